package launcher

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/internal/timing"
)

// built makes what `make build lib pages` would, in a directory of its own.
func built(t *testing.T) (dir, source string) {
	t.Helper()
	b := cbuild.Library(t)
	dir = t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := errors.Join(needs.CopyPrograms(bin, os.DirFS(filepath.Join(tree, "bin"))), needs.CopyPrograms(filepath.Join(dir, "lib"), regular(b.Dir))); err != nil {
		t.Fatal(err)
	}
	do(t, exec.Command("cp", whole(), small(), bin))
	do(t, exec.Command(filepath.Join(bin, "kernstash"), "man", filepath.Join(dir, "share", "man")))
	for shell, file := range map[string]string{"bash": "kernstash", "zsh": "_kernstash", "fish": "kernstash.fish"} {
		text := do(t, exec.Command(filepath.Join(bin, "kernstash"), "completion", shell))
		if err := os.MkdirAll(filepath.Join(dir, "share", shell), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "share", shell, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, b.Root
}

// regular is a directory without its links.
func regular(dir string) fs.FS { return onlyFiles{os.DirFS(dir)} }

type onlyFiles struct{ fs.FS }

func (o onlyFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(o.FS, name)
	var files []fs.DirEntry
	for _, e := range all {
		if e.Type().IsRegular() {
			files = append(files, e)
		}
	}
	return files, err
}

// do runs a command and returns what it says on standard output.
func do(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr strings.Builder
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, &stderr)
	}
	return string(out)
}

// home gives a command a home of its own.
func home(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "KERNSTASH_WORKER=off")
	return cmd
}

// works checks that an installation does what it is for.
func works(t *testing.T, prefix string) {
	t.Helper()
	command := filepath.Join(prefix, "bin", "kernstash")
	if out := do(t, home(t, exec.Command(command, "version"))); !strings.HasPrefix(out, "kernstash 0.") {
		t.Errorf("version: %s", out)
	}
	var stderr strings.Builder
	list := home(t, exec.Command(command, "run", "--", "clinfo", "-l"))
	list.Stderr = &stderr
	if out := do(t, list); !strings.Contains(out, "Platform #0") {
		t.Errorf("clinfo: %s", out)
	}
	if !strings.Contains(stderr.String(), "the cache was loaded in 1 process") {
		t.Errorf("clinfo: %s", &stderr)
	}
}

// linksLead checks that each link of the installed documents leads to a file that is there.
func linksLead(t *testing.T, prefix string) {
	t.Helper()
	root := filepath.Join(prefix, "share", "doc", "kernstash")
	n := 0
	for _, name := range names(t, root) {
		if filepath.Ext(name) != ".md" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllSubmatch(b, -1) {
			target := string(m[1])
			if strings.Contains(target, "://") {
				continue
			}
			n++
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), target)); err != nil {
				t.Errorf("%s: a dead link: %v", name, err)
			}
		}
	}
	if n < 10 {
		t.Errorf("%d links in the documents", n)
	}
}

// link is one to a file, in Markdown.
var link = regexp.MustCompile(`\]\(([./a-zA-Z][^)# ]*)(?:#[^) ]*)?\)`)

// TestInstall: installed, used, moved, used, taken out again. The short form uses nothing of it.
func TestInstall(t *testing.T) {
	t.Parallel()
	build, source := built(t)
	script := filepath.Join(source, "packaging", "install")
	packaging := func(args ...string) *exec.Cmd {
		cmd := exec.Command(script, args...)
		cmd.Env = append(os.Environ(), "BUILD="+build)
		return cmd
	}
	stage := filepath.Join(t.TempDir(), "stage")
	if err := os.Mkdir(stage, 0o700); err != nil {
		t.Fatal(err)
	}
	prefix := filepath.Join(stage, "opt", "with space")
	do(t, packaging("install", "/opt/with space", stage))
	linksLead(t, prefix)
	if !timing.IsLong() {
		do(t, packaging("uninstall", "/opt/with space", stage))
		if left := names(t, stage); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
		return
	}
	works(t, prefix)
	first := names(t, stage)
	do(t, packaging("install", "/opt/with space", stage))
	if diff := cmp.Diff(first, names(t, stage)); diff != "" {
		t.Errorf("installed twice:\n%s", diff)
	}

	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(prefix, moved); err != nil {
		t.Fatal(err)
	}
	works(t, moved)
	compiles(t, moved)
	startsWarm(t, moved, filepath.Join(source, "examples", "c", "saxpy.c"))
	purged(t, filepath.Join(moved, "bin", "kernstash"), filepath.Join(source, "packaging", "purge"))
	if err := os.Rename(moved, prefix); err != nil {
		t.Fatal(err)
	}

	foreign := filepath.Join(prefix, "lib", "kernstash", "foreign")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, packaging("uninstall", "/opt/with space", stage))
	want := []string{"opt", "opt/with space", "opt/with space/lib", "opt/with space/lib/kernstash", "opt/with space/lib/kernstash/foreign"}
	if diff := cmp.Diff(want, names(t, stage)); diff != "" {
		t.Errorf("left beside what is not ours:\n%s", diff)
	}
	if err := os.RemoveAll(filepath.Join(stage, "opt")); err != nil {
		t.Fatal(err)
	}
	do(t, packaging("install", "/opt/k", stage))
	do(t, packaging("uninstall", "/opt/k", stage))
	if left := names(t, stage); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if out, err := packaging("uninstall", "/opt/k", stage).CombinedOutput(); err == nil {
		t.Errorf("uninstalled twice: %s", out)
	}

	if err := os.Remove(filepath.Join(build, "lib", "libkernstash_opencl_layer.so")); err != nil {
		t.Fatal(err)
	}
	if out, err := packaging("install", "/opt/k", stage).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "libkernstash_opencl_layer.so is missing") {
		t.Errorf("without the layer: %v\n%s", err, out)
	}
}

// purged checks that nothing of a user's is left, though a worker runs.
func purged(t *testing.T, command, script string) {
	t.Helper()
	dir := t.TempDir()
	here := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
		return cmd
	}
	do(t, here(command, "enable", "--inject", "layer"))
	worker := here(command, "worker", "run", "--quiet", "--idle", "1m")
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	for range 3600 {
		if strings.HasPrefix(do(t, here(command, "worker", "status")), "a worker runs") {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	do(t, here(script, command))
	if err := worker.Wait(); err != nil {
		t.Error(err)
	}
	if left := names(t, dir); !slices.Equal(left, []string{".cache"}) { // which is everybody's
		t.Errorf("left after purge: %q", left)
	}
}

// names returns what is below a directory.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir {
			name, _ := filepath.Rel(dir, path)
			all = append(all, name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

// compiles checks that a C program finds header and library through pkg-config.
func compiles(t *testing.T, prefix string) {
	t.Helper()
	flags := exec.Command("pkg-config", "--cflags", "--libs", "kernstash")
	flags.Env = append(os.Environ(), "PKG_CONFIG_PATH="+filepath.Join(prefix, "lib", "pkgconfig"))
	words := strings.Fields(do(t, flags))
	out := filepath.Join(t.TempDir(), "program")
	cc := exec.Command("cc", append([]string{"-x", "c", "-o", out, "-", "-Wl,-rpath," + filepath.Join(prefix, "lib")}, words...)...)
	cc.Stdin = strings.NewReader("#include <stdio.h>\n#include <kernstash.h>\nint main(void) { puts(kernstash_version()); return 0; }\n")
	do(t, cc)
	if text := strings.TrimSpace(do(t, exec.Command(out))); text == "" {
		t.Error("no version")
	}
}

// startsWarm checks that an OpenCL program that knows nothing of us compiles once.
func startsWarm(t *testing.T, prefix, source string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "saxpy")
	do(t, exec.Command("cc", "-o", program, source, "-lOpenCL"))
	cmd := home(t, exec.Command(filepath.Join(prefix, "bin", "kernstash"), "demo", "--json", "--runs", "1", "--app", program))
	cmd.Env = append(cmd.Env, "KERNSTASH_WORKER=") // the demonstration has its own
	var report struct {
		OK        bool
		Unchanged []struct {
			OnDisk   int  `json:"on_disk"`
			Compiled int  `json:"compiled"`
			Same     bool `json:"same_text"`
			Problems []string
		}
	}
	text := do(t, cmd)
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Unchanged) != 1 || !report.OK || !report.Unchanged[0].Same || report.Unchanged[0].OnDisk != 1 || report.Unchanged[0].Compiled != 0 {
		t.Errorf("%s", text)
	}
}

// TestDist: the packages run where they are unpacked, can be made again, and are
// not made for a system that they do not run on.
func TestDist(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	build, source := built(t)
	dist := func(dir, most string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(source, "packaging", "dist"), dir, most)
		cmd.Env = append(os.Environ(), "BUILD="+build, "SOURCE_DATE_EPOCH=1700000000")
		return cmd
	}
	out := t.TempDir()
	sums := do(t, dist(out, "2.99"))
	if os.Getenv("KERNSTASH_TEST_LONG") == "1" {
		if again := do(t, dist(t.TempDir(), "2.99")); again != sums {
			t.Errorf("made again they differ:\n%s%s", sums, again)
		}
	}
	if text, err := dist(t.TempDir(), "2.2").CombinedOutput(); err == nil || !strings.Contains(string(text), "at most 2.2 is to be") {
		t.Errorf("a maximum of glibc 2.2: %v\n%s", err, text)
	}
	check := exec.Command("sha256sum", "-c", "SHA256SUMS")
	check.Dir = out
	do(t, check)

	tarballs, _ := filepath.Glob(filepath.Join(out, "*.tar.gz"))
	debs, _ := filepath.Glob(filepath.Join(out, "*.deb"))
	if len(tarballs) != 1 || len(debs) != 1 {
		t.Fatalf("%q, %q", tarballs, debs)
	}
	unpacked := t.TempDir()
	do(t, exec.Command("tar", "-C", unpacked, "-xzf", tarballs[0]))
	folders, _ := filepath.Glob(filepath.Join(unpacked, "*"))
	works(t, folders[0])
	root := t.TempDir()
	do(t, exec.Command("dpkg-deb", "-x", debs[0], root))
	works(t, filepath.Join(root, "usr"))
	linksLead(t, filepath.Join(root, "usr"))
	if text := do(t, exec.Command("dpkg-deb", "-f", debs[0], "Depends", "Architecture")); !strings.Contains(text, "libc6 (>= 2.") {
		t.Errorf("control: %s", text)
	}
	if os.Geteuid() == 0 {
		installsWithDpkg(t, debs[0])
	}
}

// installsWithDpkg has dpkg itself install into a root that has nothing else,
// and remove it.
func installsWithDpkg(t *testing.T, deb string) {
	t.Helper()
	root := t.TempDir()
	admin := filepath.Join(root, "var", "lib", "dpkg")
	for _, dir := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(admin, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(admin, "status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dpkg := func(args ...string) {
		do(t, exec.Command("dpkg", append([]string{"--root=" + root, "--force-depends", "--force-not-root", "--log=/dev/null"}, args...)...))
	}
	dpkg("-i", deb)
	works(t, filepath.Join(root, "usr"))
	dpkg("--purge", "--force-remove-reinstreq", "kernstash")
	if _, err := os.Stat(filepath.Join(root, "usr")); err == nil {
		t.Errorf("left: %q", names(t, filepath.Join(root, "usr")))
	}
}
