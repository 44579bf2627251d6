//go:build linux

package compilers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// TestMain is the command: by the name of a compiler, and as `kernstash compile`.
func TestMain(m *testing.M) {
	if status, ours := Step(os.Args); ours {
		os.Exit(status)
	}
	os.Exit(m.Run())
}

// tree is a directory with programs.
type tree struct {
	t   *testing.T
	dir string
}

func newTree(t *testing.T) *tree {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &tree{t, dir}
}

func (d *tree) path(name string) string { return filepath.Join(d.dir, name) }

func (d *tree) write(name, text string, mode os.FileMode) {
	d.t.Helper()
	err := os.MkdirAll(filepath.Dir(d.path(name)), 0o700)
	if err = cmp.Or(err, needs.WriteProgram(d.path(name), []byte(text), mode)); err != nil {
		d.t.Fatal(err)
	}
}

// command links a name to this command.
func (d *tree) command(name string) {
	d.t.Helper()
	self, err := os.Executable()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(d.path(name)), 0o700)
	}
	if err = cmp.Or(err, os.Symlink(self, d.path(name))); err != nil {
		d.t.Fatal(err)
	}
}

// compiler makes a program that says what it is called as, and with what.
func (d *tree) compiler(name string) {
	d.t.Helper()
	d.write("source.c", "#include <stdio.h>\n#include <stdlib.h>\n"+
		`int main(int c, char **v) { printf("%s %s %s\n", v[0], v[1], getenv("KERNSTASH_LINKED")); return 5; }`, 0o600)
	if err := os.MkdirAll(filepath.Dir(d.path(name)), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if out, err := exec.Command(needs.Tool(d.t, "cc", "gcc"), "-o", d.path(name), d.path("source.c")).CombinedOutput(); err != nil {
		d.t.Fatalf("%v\n%s", err, out)
	}
}

// run runs a command in the tree with this PATH, and returns what it says and its status.
func (d *tree) run(path string, args ...string) string {
	d.t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = d.dir, append(os.Environ(), "PATH="+path, "KERNSTASH_DIR="+d.path("cache"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	return fmt.Sprintf("%s%d", strings.ReplaceAll(out.String(), d.dir, "DIR"), cmd.ProcessState.ExitCode())
}

// TestLinks: a link of a compiler's name leads to the next of that name, by whatever way PATH comes to the
// link, and never to the command again.
func TestLinks(t *testing.T) {
	t.Parallel()
	const real = "DIR/real/ptxas -x DIR/real/ptxas\n5"
	for name, test := range map[string]struct {
		path   []string // of the tree
		called string
		want   string
	}{
		"by its name":           {path: []string{"links", "real"}, called: "sh -c 'ptxas -x'", want: real},
		"by its path":           {path: []string{"links", "real"}, called: "links/ptxas -x", want: real},
		"not in PATH":           {path: []string{"real"}, called: "links/ptxas -x", want: real},
		"behind the compiler":   {path: []string{"real", "links"}, called: "links/ptxas -x", want: real},
		"twice":                 {path: []string{"links", "links/", "../" + "DIRNAME/links", "real"}, called: "links/ptxas -x", want: real},
		"another link":          {path: []string{"links", "more", "real"}, called: "links/ptxas -x", want: real},
		"through a directory":   {path: []string{"lib", "real"}, called: "lib/ptxas -x", want: real},
		"a copy":                {path: []string{"links", "copy", "real"}, called: "links/ptxas -x", want: real},
		"of the copy":           {path: []string{"copy", "links", "real"}, called: "copy/ptxas -x", want: real},
		"of the launcher":       {path: []string{"links", "launcher", "real"}, called: "links/ptxas -x", want: real},
		"none that may run":     {path: []string{"links", "text", "directory", "real"}, called: "links/ptxas -x", want: real},
		"another one first":     {path: []string{"links", "other", "real"}, called: "links/ptxas -x", want: "DIR/other/ptxas -x DIR/other/ptxas\n5"},
		"a script":              {path: []string{"links", "script", "real"}, called: "links/ptxas -x", want: "script DIR/script/ptxas\nDIR/real/ptxas -x DIR/script/ptxas:DIR/real/ptxas\n5"},
		"a script that tidies":  {path: []string{"links", "tidy", "real"}, called: "links/ptxas -x", want: "DIR/real/ptxas -x DIR/tidy/ptxas:DIR/real/ptxas\n5"},
		"two scripts":           {path: []string{"links", "script", "tidy", "real"}, called: "links/ptxas -x", want: "script DIR/script/ptxas\nDIR/real/ptxas -x DIR/script/ptxas:DIR/tidy/ptxas:DIR/real/ptxas\n5"},
		"nothing behind it":     {path: []string{"links"}, called: "links/ptxas -x", want: "kernstash: ptxas: no such file or directory: in PATH is but a link to kernstash\n127"},
		"a script, and nothing": {path: []string{"links", "script"}, called: "links/ptxas -x", want: "script DIR/script/ptxas\nkernstash: ptxas: no such file or directory: in PATH is but a link to kernstash\n127"},
		"given to compile":      {path: []string{"links", "real"}, called: "SELF compile -- links/ptxas -x", want: real},
		"a name for compile":    {path: []string{"links", "real"}, called: "SELF compile -- ptxas -x", want: real},
		"one behind compile":    {path: []string{"links", "real"}, called: "SELF compile -- real/ptxas -x", want: "real/ptxas -x (null)\n5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTree(t)
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			d.compiler("real/ptxas")
			d.compiler("other/ptxas")
			d.command("links/ptxas")
			d.command("more/ptxas")
			if err := os.Symlink("links", d.path("lib")); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(self)
			if err != nil {
				t.Fatal(err)
			}
			d.write("copy/ptxas", string(b), 0o700)
			d.write("launcher/ptxas", "\x7fELF in lib/kernstash/kernstash-full", 0o700)
			d.write("text/ptxas", "text", 0o600)
			d.write("directory/ptxas/file", "", 0o600)
			d.write("script/ptxas", "#!/bin/sh\necho script $KERNSTASH_LINKED\nptxas \"$@\"\n", 0o700)
			d.write("tidy/ptxas", "#!/bin/sh\nPATH=${PATH#"+d.path("tidy")+":}\nexec ptxas \"$@\"\n", 0o700)
			var path []string
			for _, dir := range test.path {
				path = append(path, d.dir+"/"+strings.ReplaceAll(dir, "DIRNAME", filepath.Base(d.dir)))
			}
			called := strings.ReplaceAll(test.called, "SELF", self)
			if got := d.run(strings.Join(append(path, "/usr/bin", "/bin"), ":"), "sh", "-c", called); got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}

// TestLinkServes: what is started through a link is found by the next run, of whatever link, and by one without.
func TestLinkServes(t *testing.T) {
	t.Parallel()
	ptxas, err := filepath.Abs("../../../../bin/ptxas")
	if _, statErr := os.Stat(ptxas); err != nil || statErr != nil {
		needs.Missing(t, "there is no ptxas", "nvidia-cuda-toolkit, or take ptxas out of it as scripts/drivers does")
	}
	d := newTree(t)
	d.command("links/ptxas")
	d.command("more/ptxas")
	d.write("k.ptx", ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n", 0o600)
	path := d.path("links") + ":" + filepath.Dir(ptxas) + ":/usr/bin:/bin"
	for _, line := range []string{"links/ptxas", "more/ptxas", "ptxas"} {
		if got := d.run(path, "sh", "-c", line+" -arch=sm_80 k.ptx -o k.cubin"); got != "0" {
			t.Errorf("%s: %s", line, got)
		}
	}
	store := disk.New(disk.Options{Dir: d.path("cache")})
	defer store.Close()
	s, err := store.Stats()
	if err != nil || s.Get(stats.Builds) != 1 || s.Get(stats.DiskHits) != 2 {
		t.Errorf("%d compiled, %d found, %v", s.Get(stats.Builds), s.Get(stats.DiskHits), err)
	}
}

// TestLink: links are made, and made again where the command has moved; no file is written over.
func TestLink(t *testing.T) {
	t.Parallel()
	d := newTree(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{d.path("new/ptxas"), d.path("new/ptxas-blackwell")}
	for range 2 { // again, too
		made, err := Link(d.path("new"))
		if diff := gocmp.Diff(want, made); diff != "" || err != nil {
			t.Errorf("%v, (-want +got):\n%s", err, diff)
		}
	}
	if target, err := os.Readlink(want[0]); target != self || err != nil {
		t.Errorf("%s, %v", target, err)
	}
	// The command has moved.
	d.write("moved/file", "", 0o600)
	if err := os.Symlink("/nonexistent/"+filepath.Base(self), d.path("moved/ptxas")); err != nil {
		t.Fatal(err)
	}
	if _, err := Link(d.path("moved")); err != nil {
		t.Error(err)
	}
	d.write("others/ptxas", "mine", 0o600)
	if _, err := Link(d.path("others")); !errors.Is(err, os.ErrExist) {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(d.path("others/ptxas")); string(b) != "mine" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// TestFind: where compilers are found, and how they are reached.
func TestFind(t *testing.T) {
	t.Parallel()
	d := newTree(t)
	d.compiler("a/ptxas")
	d.compiler("usr/local/cuda-12.4/bin/ptxas")
	d.compiler("venv/lib/python3.12/site-packages/triton/backends/nvidia/bin/ptxas-blackwell")
	d.compiler("venv/lib/python3.12/site-packages/nvidia/cuda_nvcc/bin/ptxas")
	d.command("links/ptxas")
	d.command("kernstash")
	d.write("script/ptxas", "#!/bin/sh\n", 0o700)
	d.compiler("lib/ccache")
	if err := os.Symlink("ccache", d.path("lib/ptxas")); err != nil {
		t.Fatal(err)
	}
	d.write("text/ptxas", "", 0o600)
	if err := os.Symlink("cuda-12.4", d.path("usr/local/cuda")); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{
		"PATH":                        strings.Join([]string{d.path("script"), d.path("links"), d.path("a"), d.path("usr/local/cuda/bin"), d.path("lib")}, ":"),
		"TRITON_PTXAS_PATH":           d.path("none/ptxas"),
		"TRITON_PTXAS_BLACKWELL_PATH": d.path("text/ptxas"),
		"PYTORCH_NVCC":                d.path("kernstash") + " compile -- " + d.path("usr/local/cuda/bin/ptxas"), // nvcc, if it were
		"FLASHINFER_NVCC":             "ccache gcc",
		"CUDA_HOME":                   d.path("usr/local/cuda-12.4"),
		"VIRTUAL_ENV":                 d.path("venv"),
	}
	f := &search{getenv: func(name string) string { return environment[name] }, root: d.dir}
	f.all(true)
	var got []string
	for _, c := range f.found {
		if !strings.HasPrefix(c.Path, d.dir) {
			continue // of the Python that is installed here
		}
		text := fmt.Sprintf("%s %s found:%s reached:%s %s", c.Name, c.Path, strings.Join(c.Found, ","), strings.Join(c.Reached, ","), c.Why)
		got = append(got, strings.TrimSpace(strings.ReplaceAll(text, d.dir, "DIR")))
	}
	const site = "DIR/venv/lib/python3.12/site-packages"
	want := []string{
		"ptxas DIR/script/ptxas found:PATH reached: it is a script; what that starts may be served",
		"ptxas DIR/a/ptxas found:PATH reached:run,link DIR/links/ptxas",
		"ptxas DIR/usr/local/cuda/bin/ptxas found:PATH,PYTORCH_NVCC,CUDA_HOME,DIR/usr/local/cuda/bin,DIR/usr/local/cuda-12.4/bin reached:run,variable PYTORCH_NVCC",
		"ptxas DIR/lib/ptxas found:PATH reached: it is a link to another program: DIR/lib/ccache",
		"ptxas DIR/none/ptxas found:TRITON_PTXAS_PATH reached: it is not there",
		"ptxas DIR/text/ptxas found:TRITON_PTXAS_BLACKWELL_PATH reached: it is not executable",
		"ptxas-blackwell " + site + "/triton/backends/nvidia/bin/ptxas-blackwell found:" + site + " reached:run",
		"ptxas " + site + "/nvidia/cuda_nvcc/bin/ptxas found:" + site + " reached:run",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f = &search{getenv: func(name string) string { return environment[name] }, root: d.dir}
	f.all(false)
	if c := f.found[1]; len(c.Reached) != 1 || c.Why != "" {
		t.Errorf("without a library: %+v", *c)
	}
	if c := f.found[len(f.found)-1]; len(c.Reached) != 0 || c.Why != "nothing can be preloaded here" {
		t.Errorf("without a library: %+v", *c)
	}
}

// TestVersions: a compiler is asked for its version, and not waited for for ever.
func TestVersions(t *testing.T) {
	t.Parallel()
	d := newTree(t)
	d.write("says", "#!/bin/sh\necho ptxas: NVIDIA\necho 'Cuda compilation tools, release 12.4, V12.4.131'\n", 0o700)
	d.write("fails", "#!/bin/sh\nexit 1\n", 0o700)
	for name, want := range map[string]string{"says": "12.4.131", "fails": "", "none": ""} {
		if got := version(t.Context(), d.path(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestSwitchedOff: what is switched off is not said to be served.
func TestSwitchedOff(t *testing.T) {
	d := newTree(t)
	d.compiler("ptxas")
	t.Setenv("PATH", d.dir)
	for _, test := range []struct{ set, want string }{
		{"", ""},
		{"KERNSTASH_COMPILERS=0", "compilers are left alone (setting compilers)"},
		{"KERNSTASH_DISABLE=1", "the cache is switched off (setting disable)"},
	} {
		s, err := settings.Load(settings.Inputs{Environ: []string{test.set}, Lenient: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := Find(t.Context(), s, true); len(got) == 0 || got[0].Why != test.want || (len(got[0].Reached) > 0) != (test.want == "") {
			t.Errorf("%q: %+v", test.set, got)
		}
	}
}
