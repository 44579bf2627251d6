//go:build linux

package compile_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLinkedDirectory: a working directory that is reached by a link is the one that the link leads to.
func TestLinkedDirectory(t *testing.T) {
	t.Parallel()
	tool, host := nvcc(t)
	p := newSource(t)
	root := p.dir
	for _, version := range []string{"1", "2"} {
		p.dir = filepath.Join(root, version)
		if err := os.Mkdir(p.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"k.cu", "a.h"} {
			p.write(name, source[name])
		}
		p.write("b.h", "#define F(x) (x)\n#define X "+version+"\n")
	}
	p.dir = filepath.Join(root, "now")
	p.env = append(p.env, "PWD="+p.dir)
	time.Sleep(50 * time.Millisecond)
	for _, version := range []string{"1", "2", "1", "2"} {
		_ = os.Remove(p.dir)
		if err := os.Symlink(version, p.dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		for out, name := range map[string]string{"out": "out", filepath.Join(root, "out"): "../out"} {
			args := []string{tool, host, "-ptx", "k.cu", "-o", out}
			want := p.plain(args...)
			object := p.read(name)
			if d := cmp.Diff(want, p.served(args...)); d != "" || p.read(name) != object {
				t.Errorf("%s: another output, or (-want +got):\n%s", version, d)
			}
		}
	}
	p.wantCounts(2, 6)
}

// TestHostCompilerInItsPlace: a host compiler counts by where it really is, as it finds its parts from there, and by
// whether it may be executed.
func TestHostCompilerInItsPlace(t *testing.T) {
	t.Parallel()
	tool, host := nvcc(t)
	_, name, _ := strings.Cut(host, "=")
	driver, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	library, err := exec.Command(driver, "-print-libgcc-file-name").Output() // PREFIX/MACHINE/VERSION/libgcc.a
	if err != nil {
		t.Fatal(err)
	}
	prefix := filepath.Join(filepath.Dir(string(library)), "../..") + "/"
	for what, test := range map[string]struct{ put, change func(dir string) error }{
		"it may be executed": {
			func(dir string) error { return os.Chmod(filepath.Join(dir, "1", name), 0o600) },
			func(dir string) error { return os.Chmod(filepath.Join(dir, "1", name), 0o700) },
		},
		"it may not be executed": {
			func(string) error { return nil },
			func(dir string) error { return os.Chmod(filepath.Join(dir, "1", name), 0o600) },
		},
		"the same file elsewhere": {
			func(string) error { return nil },
			func(dir string) error {
				return errors.Join(os.Remove(filepath.Join(dir, "bin")), os.Symlink("2", filepath.Join(dir, "bin")))
			},
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := newSource(t)
			if err := errors.Join(os.Mkdir(filepath.Join(p.dir, "1"), 0o700), os.Mkdir(filepath.Join(p.dir, "2"), 0o700), os.Symlink("1", filepath.Join(p.dir, "bin"))); err != nil {
				t.Fatal(err)
			}
			copied(t, driver, filepath.Join(p.dir, "1", name), "")
			if err := errors.Join(os.Link(filepath.Join(p.dir, "1", name), filepath.Join(p.dir, "2", name)), test.put(p.dir)); err != nil {
				t.Fatal(err)
			}
			p.env = append(p.env, "GCC_EXEC_PREFIX="+prefix, "PATH="+filepath.Join(p.dir, "bin")+":"+os.Getenv("PATH"))
			args := []string{tool, host, "-ptx", "-Ilate", "k.cu", "-o", "out"}
			time.Sleep(50 * time.Millisecond)
			for range 2 {
				if r := p.served(args...); r.Status != 0 {
					t.Fatalf("%+v", r)
				}
			}
			p.wantCounts(1, 1)
			if err := test.change(p.dir); err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond)
			want := p.plain(args...)
			if d := cmp.Diff(want, p.served(args...)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			p.wantCounts(2, 1)
		})
	}
}

// TestProfileWithAVariable: what nvcc.profile takes from a variable that nobody else knows is not kept.
func TestProfileWithAVariable(t *testing.T) {
	t.Parallel()
	_, host := nvcc(t)
	p, tool := newSource(t), toolkit(t)
	copied(t, tool+".profile", tool+".profile", "\nINCLUDES += \"-I$(FOO)\" $(_SPACE_)\n")
	p.write("early/c.h", "#define F(x) (x)\n#define X 7\n")
	time.Sleep(50 * time.Millisecond)
	for _, dir := range []string{"late", "early"} {
		p.env = append(p.env, "FOO="+dir)
		args := []string{tool, host, "-ptx", "k.cu", "-o", "out"}
		want := p.plain(args...)
		object := p.read("out")
		if d := cmp.Diff(want, p.served(args...)); d != "" || p.read("out") != object {
			t.Errorf("%s: another output, or (-want +got):\n%s", dir, d)
		}
	}
	if want := "nvcc.profile has the variable FOO"; !strings.Contains(p.report(), want) {
		t.Errorf("want %s", want)
	}
}

// TestTimeOfTheCompile: what has the time in it is not kept, however the source puts the macro together.
func TestTimeOfTheCompile(t *testing.T) {
	t.Parallel()
	tool, host := nvcc(t)
	for name, text := range map[string]string{
		"pasted":              "#define PASTE(a, b) a##b\n__device__ char when[] = PASTE(__TI, ME__);\n",
		"the date":            "#define PASTE(a, b) a##b\n__device__ char when[] = PASTE(__, DATE__);\n",
		"of the source":       "#define PASTE(a, b) a##b\n__device__ char when[] = PASTE(__TIME, STAMP__);\n",
		"over lines":          "__device__ char when[] = __TI\\ \nME__;\n",
		"with a NUL before":   "\x00__device__ char when[] = __TIME__;\n",
		"in a zone by name":   "#define PASTE(a, b) a##b\n__device__ char when[] = PASTE(__TI, ME__);\n",
		"in a zone by a rule": "#define PASTE(a, b) a##b\n__device__ char when[] = PASTE(__TI, ME__);\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSource(t)
			p.env = append(p.env, map[string]string{"in a zone by name": "TZ=Europe/Berlin", "in a zone by a rule": "TZ=UTC0"}[name])
			p.write("k.cu", text)
			p.write("a.h", "")
			time.Sleep(50 * time.Millisecond)
			for range 2 {
				if r := p.served(tool, host, "-ptx", "k.cu", "-o", "out"); r.Status != 0 {
					t.Errorf("%+v", r)
				}
			}
			p.wantCounts(2, 0)
		})
	}
}

// TestOptionsAlike: what one option makes is not found with another that looks much like it.
func TestOptionsAlike(t *testing.T) {
	t.Parallel()
	tool, host := nvcc(t)
	p := newSource(t)
	p.write("k.cu", "#include \"k.h\"\n__global__ void k(int *p) { *p = (X + 0); }\n")
	p.write("k.h", "#ifndef X\n#define X 7\n#endif\n")
	time.Sleep(50 * time.Millisecond)
	for _, option := range []string{"-DX", "-DX=", "-DX=1+1", "-UX", "-DX==", "-DY=X", "-D=X=3"} {
		args := []string{tool, host, "-ptx", option, "k.cu", "-o", "out"}
		_ = os.Remove(filepath.Join(p.dir, "out"))
		want := p.plain(args...)
		object, _ := os.ReadFile(filepath.Join(p.dir, "out"))
		for range 2 {
			_ = os.Remove(filepath.Join(p.dir, "out"))
			got := p.served(args...)
			made, _ := os.ReadFile(filepath.Join(p.dir, "out"))
			if d := cmp.Diff(want, got) + cmp.Diff(string(object), string(made)); d != "" {
				t.Errorf("%s: (-want +got):\n%s", option, d)
			}
		}
	}
}

// TestOutputThatIsRead: what was made of a header that the output took the place of is not found for another.
func TestOutputThatIsRead(t *testing.T) {
	t.Parallel()
	tool, host := nvcc(t)
	p := newSource(t)
	for _, x := range []string{"1", "2"} {
		p.write("b.h", "#define F(x) (x)\n#define X "+x+"\n")
		time.Sleep(50 * time.Millisecond)
		if r := p.served(tool, host, "-ptx", "k.cu", "-o", "b.h"); r.Status != 0 {
			t.Errorf("%+v", r)
		}
	}
	p.wantCounts(2, 0)
}

// TestFileDirective: ptxas writes the time of a file that a .file directive names, of inline assembly, too. Without line
// information, with which times count, nothing is kept of that.
func TestFileDirective(t *testing.T) {
	t.Parallel()
	tool, host := nvcc(t)
	for name, test := range map[string]struct {
		named string
		args  []string
		found int64 // of the second of the same compile
	}{
		"a header":                        {"a.h", nil, 0},
		"a header, with line information": {"a.h", []string{"-lineinfo"}, 1},
		"none":                            {"none.h", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSource(t)
			p.write("asm.cu", "#include \"a.h\"\n__global__ void k(float *p) { p[0] = F(p[0]); asm volatile(\"ret;\\n}\\n.file 7 \\\""+test.named+
				"\\\"\\n.visible .entry h() {\\n.loc 7 3 1\\nret;\"); }\n")
			time.Sleep(50 * time.Millisecond)
			args := append([]string{tool, host, "-Ilate", "-arch=sm_80", "-cubin", "asm.cu", "-o", "out"}, test.args...)
			for range 2 {
				if r := p.served(args...); r.Status != 0 {
					t.Fatalf("%+v", r)
				}
			}
			if _, found := p.counts(); found != test.found {
				t.Errorf("%d found, want %d", found, test.found)
			}
			before := p.read("out")
			p.write(test.named, source["a.h"])
			past := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join(p.dir, test.named), past, past); err != nil {
				t.Fatal(err)
			}
			p.plain(args...)
			want := p.read("out")
			if temporaryNames.ReplaceAllString(want, "tmpxft") == temporaryNames.ReplaceAllString(before, "tmpxft") {
				t.Fatal("the time of the file is not in the output")
			}
			time.Sleep(50 * time.Millisecond)
			p.served(args...)
			if got := p.read("out"); temporaryNames.ReplaceAllString(want, "tmpxft") != temporaryNames.ReplaceAllString(got, "tmpxft") {
				t.Error("the output has another time than that of the file")
			}
		})
	}
}
