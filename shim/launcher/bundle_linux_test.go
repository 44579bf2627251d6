package launcher

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBundle: where a bundle of another place is used, an unchanged OpenCL program compiles nothing at its first
// start: ours is found in it as a layer, and PoCL finds its own there where we are switched off.
func TestBundle(t *testing.T) {
	t.Parallel()
	dir, source := built(t)
	command := filepath.Join(dir, "bin", "kernstash")
	work := t.TempDir()
	program := filepath.Join(work, "saxpy")
	do(t, exec.Command("cc", "-o", program, filepath.Join(source, "examples", "c", "saxpy.c"), "-lOpenCL"))
	in := func(place string, more []string, args ...string) string {
		t.Helper()
		at := filepath.Join(work, place)
		if err := os.MkdirAll(filepath.Join(at, "pocl"), 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + at, "TMPDIR=" + os.TempDir(), "KERNSTASH_WORKER=off"}, more...)
		if cmd.Dir = work; place == "first" {
			cmd.Env = append(cmd.Env, "POCL_CACHE_DIR="+filepath.Join(at, "pocl"))
		}
		return do(t, cmd)
	}
	in("first", nil, command, "run", "-q", "--", program)
	in("first", nil, command, "worker", "run", "--once", "--normal-priority", "--quiet")
	in("first", []string{"KERNSTASH_DISABLE=1"}, program)
	in("first", nil, command, "keygen", "key")
	in("first", nil, command, "bundle", "create", "--sign", "key.pem", "--harvest", "POCL_CACHE_DIR="+filepath.Join(work, "first", "pocl"), "kernels.kst")

	second := []string{"run", "--report-file", "report.json", "--bundle", "kernels.kst", "--trust", "key.pub.pem", "--", program}
	in("second", nil, append([]string{command}, second...)...)
	b, err := os.ReadFile(filepath.Join(work, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	type count struct {
		What string
		N    int
	}
	var report struct {
		Programs struct{ Asked, Disk, Compiled int }
		Layers   []count `json:"from_layers"`
		Restored struct{ Entries, Hits int }
	}
	if err := json.Unmarshal(b, &report); err != nil {
		t.Fatal(err)
	}
	places, _ := filepath.Glob(filepath.Join(work, "second", ".cache", "kernstash-restored", "*"))
	if len(places) != 1 {
		t.Fatalf("restored: %q", places)
	}
	if p := report.Programs; p.Asked != 1 || p.Disk != 1 || p.Compiled != 0 {
		t.Errorf("%s", b)
	}
	if d := cmp.Diff([]count{{places[0], 1}}, report.Layers); d != "" {
		t.Errorf("layers (-want +got):\n%s", d)
	}
	if report.Restored.Entries != 1 || report.Restored.Hits != 1 {
		t.Errorf("of the bundle: %+v", report.Restored)
	}

	// What PoCL compiles it writes: a bitcode file for a program, a library for a launch.
	pocl := filepath.Join(places[0], "harvest", "POCL_CACHE_DIR")
	compiled := func() (all []string) {
		for _, name := range names(t, pocl) {
			if strings.HasSuffix(name, ".bc") || strings.HasSuffix(name, ".so") {
				info, err := os.Stat(filepath.Join(pocl, name))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, name+info.ModTime().String())
			}
		}
		return all
	}
	before := compiled()
	in("second", []string{"KERNSTASH_DISABLE=1", "POCL_CACHE_DIR=" + pocl}, program)
	if d := cmp.Diff(before, compiled()); d != "" || len(before) < 2 {
		t.Errorf("PoCL compiled (-before +after):\n%s", d)
	}
	said := in("second", []string{"POCL_CACHE_DIR=/mine"}, command, "run", "-q", "--bundle", "kernels.kst", "--trust", "key.pub.pem", "--", "env")
	if !strings.Contains(said, "\nPOCL_CACHE_DIR=/mine\n") || !strings.Contains(said, "KERNSTASH_LAYERS="+places[0]+"\n") {
		t.Errorf("what the user has set is replaced: %s", said)
	}
	said = in("second", nil, command, "run", "-q", "--bundle", "kernels.kst", "--", "env")
	if strings.Contains(said, "POCL_CACHE_DIR") {
		t.Errorf("used without a trusted signature: %s", said)
	}

	// The report says which of its caches were used.
	told := []string{"sh", "-c", `"$@" 2>&1`, "-", command, "run", "--bundle", "kernels.kst", "--trust", "key.pub.pem", "--", "sh", "-c"}
	said = in("second", nil, append(told, `cat $(find "$POCL_CACHE_DIR" -type f) >/dev/null; echo >"$POCL_CACHE_DIR/more"`)...)
	if ok, _ := regexp.MatchString(`of the bundle: inert, no program was found among 1 entry; POCL_CACHE_DIR: (\d+) of \d+ files read, \d+ new|POCL_CACHE_DIR: the file system does not tell`, said); !ok {
		t.Errorf("a cache that was read: %s", said)
	}
	said = in("second", nil, append(told, ":")...)
	if ok, _ := regexp.MatchString(`POCL_CACHE_DIR: (inert, none of \d+ files was read|the file system does not tell whether it was used), \d+ new`, said); !ok {
		t.Errorf("a cache that was not: %s", said)
	}
	said = in("second", []string{"POCL_CACHE_DIR=/mine"}, append(told, ":")...)
	if !strings.Contains(said, "POCL_CACHE_DIR: left alone, as you have set its variables") {
		t.Errorf("a cache of the user's: %s", said)
	}

	// The list of trusted keys stands for --trust.
	in("second", nil, command, "trust", "add", "key.pub.pem")
	listed := func() string { return in("second", nil, command, "run", "-q", "--bundle", "kernels.kst", "--", "env") }
	if said := listed(); !strings.Contains(said, "\nPOCL_CACHE_DIR="+pocl+"\n") || !strings.Contains(said, "KERNSTASH_LAYERS="+places[0]+"\n") {
		t.Errorf("not used with a key of the list: %s", said)
	}
	in("second", nil, command, "trust", "revoke", "key.pub.pem")
	if said := listed(); strings.Contains(said, "POCL_CACHE_DIR") || strings.Contains(said, "KERNSTASH_LAYERS") {
		t.Errorf("used with a revoked key: %s", said)
	}
}
