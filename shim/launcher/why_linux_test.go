package launcher

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/records"
)

// TestWhy: of programs that unchanged applications compiled a day ago, another process knows what was the matter.
func TestWhy(t *testing.T) {
	t.Parallel()
	dir, source := built(t)
	command := filepath.Join(dir, "bin", "kernstash")
	program := missesIn(t, dir, source)
	spirv := filepath.Join(source, "gpu", "opencl", "testdata", "scale.spv")
	intel := []string{"OCL_ICD_VENDORS=/etc/OpenCL/vendors/intel.icd", "NEOReadDebugKeys=1", "SetCommandStreamReceiver=1", "ProductFamilyOverride=tgllp"}
	const kernel = "__global__ void k(int *x) { *x = 1; }\n"
	compile := []string{"nvrtc", "k.cu"}
	with := func(options ...string) []string { return append([]string{"nvrtc", "k.cu"}, options...) }
	for name, tt := range map[string]struct {
		first, second []string // arguments
		files         map[string]string
		between       func(w *whyWork)
		always, env   []string // of both starts, and of the second
		want          string
	}{
		"never-seen": {second: compile, want: "never seen"},
		"driver":     {first: []string{"lookup", "1.5"}, second: []string{"lookup", "1.6"}, want: `driver "1.6" was "1.5"`},
		"header": {
			first: with("-Ia"), second: with("-Ia"),
			files:   map[string]string{"k.cu": "#include <a.h>\n" + kernel, "a/a.h": `#include "b.h"`, "a/b.h": `#include "c.h"`, "a/c.h": "#define C 1\n"},
			between: func(w *whyWork) { w.write("a/c.h", "#define C 2\n") },
			want:    `header "c.h" (~/a/c.h) differs`,
		},
		"earlier": {
			first: with("-Ia", "-Ib"), second: with("-Ia", "-Ib"),
			files:   map[string]string{"k.cu": "#include <c.h>\n" + kernel, "b/c.h": "#define C 1\n", "a/other.h": ""},
			between: func(w *whyWork) { w.write("a/c.h", "#define C 2\n") },
			want:    `include of "c.h" leads to ~/a/c.h, not ~/b/c.h`,
		},
		"order":    {first: with("-DA=1", "-UA"), second: with("-UA", "-DA=1"), want: `option "-UA" was "-DA=1"; option "-DA=1" was "-UA"`},
		"constant": {first: []string{"il", spirv, "7", "5"}, second: []string{"il", spirv, "7", "6"}, want: "constant 7: 0x06 was 0x05"},
		"variable": {first: compile, second: compile, env: []string{"NVVM_OF_A_TEST=1"}, want: `variable NVVM_OF_A_TEST="1" is new`},
		"evicted": {
			first: compile, second: compile, want: "evicted 24 h",
			between: func(w *whyWork) { w.kernstash("gc", "--max-size", "1") },
		},
		"damaged": {
			first: compile, second: compile, want: "its entry was damaged",
			between: func(w *whyWork) {
				b, err := os.ReadFile(w.entry())
				if err != nil {
					t.Fatal(err)
				}
				b[len(b)-1] ^= 1
				if err := os.WriteFile(w.entry(), b, 0o600); err != nil {
					t.Fatal(err)
				}
			},
		},
		"small":   {second: compile, env: []string{"KERNSTASH_MIN_DEVICE_IMAGE_SIZE=1MiB"}, want: "not cacheable: size of the device image (38 bytes)"},
		"cheap":   {first: compile, second: compile, always: []string{"KERNSTASH_MIN_BUILD_TIME=10m"}, want: "not cacheable: cheap to build (min-build-time is 10m0s); it was built in "},
		"refused": {second: compile, files: map[string]string{"k.cu": "__device__ const char *t = __TIME__;\n" + kernel}, want: "not cacheable: date or time (__TIME__)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &whyWork{t, t.TempDir(), command, append([]string{
				"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "KERNSTASH_WORKER=off", "KERNSTASH_AGENT=off",
			}, intel...)}
			w.env = append(append(w.env, tt.always...), "HOME="+w.home)
			w.write("k.cu", kernel)
			for file, text := range tt.files {
				w.write(file, text)
			}
			app := filepath.Join(w.home, name)
			do(t, exec.Command("cp", program, app))
			start := func(args []string, env ...string) {
				t.Helper()
				cmd := exec.Command(command, append([]string{"run", "-q", "--", app}, args...)...)
				cmd.Dir, cmd.Env = w.home, append(w.env, env...)
				do(t, cmd)
			}
			if tt.first != nil {
				start(tt.first)
			}
			if tt.between != nil {
				tt.between(w)
			}
			start(tt.second, tt.env...)
			w.aDayAgo()
			text := w.kernstash("why", "--app", name, "--all")
			var misses []struct {
				At    time.Time
				Times int
			}
			if err := json.Unmarshal([]byte(w.kernstash("why", "--app", name, "--json")), &misses); err != nil {
				t.Fatal(err)
			}
			missed := 0
			for _, m := range misses {
				missed += m.Times
				if age := time.Since(m.At); age < 24*time.Hour || age > 25*time.Hour {
					t.Errorf("missed %v ago", age)
				}
			}
			if want := 1 + min(len(tt.first), 1); missed != want || !strings.Contains(text, tt.want) {
				t.Errorf("%d misses, want %d and %q:\n%s", missed, want, tt.want, text)
			}
		})
	}
}

// missesIn compiles the program that asks for one program in a way that its arguments name.
func missesIn(t *testing.T, dir, source string) (program string) {
	t.Helper()
	program, library := filepath.Join(t.TempDir(), "misses"), filepath.Join(dir, "lib")
	do(t, exec.Command("cc", "-o", program, filepath.Join(source, "shim", "launcher", "testdata", "misses.c"), "-I"+filepath.Join(source, "capi"),
		"-L"+library, "-l:libkernstash.so.1", "-Wl,-rpath,"+library, "-lOpenCL", "-ldl"))
	return program
}

// TestLastRun: the cache keeps the last run that asked it for anything, without the arguments of its command.
func TestLastRun(t *testing.T) {
	t.Parallel()
	dir, source := built(t)
	program := missesIn(t, dir, source)
	w := &whyWork{t, t.TempDir(), filepath.Join(dir, "bin", "kernstash"), []string{
		"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "KERNSTASH_WORKER=off", "KERNSTASH_AGENT=off",
	}}
	w.env = append(w.env, "HOME="+w.home)
	w.write("k.cu", "__global__ void k(int *x) { *x = 1; }\n")
	report := func(want string) {
		t.Helper()
		cmd := exec.Command(w.command, "report")
		cmd.Dir, cmd.Env = w.home, w.env
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), want) || strings.Contains(string(out), "SECRET") || (err == nil) != (want != "keeps no run") {
			t.Errorf("report: %v, want %q:\n%s", err, want, out)
		}
	}
	misses := func(want int, flags ...string) {
		t.Helper()
		var all []struct{ App string }
		if err := json.Unmarshal([]byte(w.kernstash(append([]string{"why", "--json"}, flags...)...)), &all); err != nil || len(all) != want {
			t.Errorf("why %v: %v, %+v, want %d", flags, err, all, want)
		}
	}
	w.kernstash("run", "--", "true")
	report("keeps no run")
	for _, option := range []string{"-DSECRET=1", "-DSECRET=2"} {
		w.kernstash("run", "--", program, "nvrtc", "k.cu", option)
		report("misses: ")
		report(" compiled ")
	}
	misses(1)
	misses(1, "--last")
	misses(2, "--all")
	w.kernstash("run", "--", "true") // which asks for nothing
	misses(1)
	w.kernstash("run", "--", program, "nvrtc", "k.cu", "-DSECRET=2")
	report(" disk ")
	misses(0)
	misses(0, "--last")
	others := 0 // of a session, after the second in which the run ended
	for begin := time.Now(); others == 0 || time.Since(begin) < 1500*time.Millisecond; others++ {
		cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf(`eval "$(%q env)" && exec %q nvrtc k.cu -DOTHER=%d`, w.command, program, others))
		cmd.Dir, cmd.Env = w.home, w.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	misses(2 + others)
	misses(0, "--last")
	w.kernstash("forget", "--yes")
	report("keeps no run")
	w.env = append(w.env, "KERNSTASH_RECORDS=0")
	w.kernstash("run", "--", program, "nvrtc", "k.cu", "-DSECRET=2")
	report("keeps no run")
}

// whyWork is the home of an application.
type whyWork struct {
	t       *testing.T
	home    string
	command string
	env     []string
}

func (w *whyWork) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *whyWork) kernstash(args ...string) string {
	w.t.Helper()
	cmd := exec.Command(w.command, args...)
	cmd.Dir, cmd.Env = w.home, w.env
	return do(w.t, cmd)
}

func (w *whyWork) root() string { return filepath.Join(w.home, ".cache", "kernstash") }

// entry returns the file of the only entry.
func (w *whyWork) entry() string {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.root(), "*", "*", "*", "*", "*.bin"))
	if err != nil || len(files) != 1 {
		w.t.Fatalf("entries: %q, %v", files, err)
	}
	return files[0]
}

// aDayAgo moves what processes have recorded into the past, as if the clock had moved on.
func (w *whyWork) aDayAgo() {
	w.t.Helper()
	path := filepath.Join(w.root(), ".meta", "records", "current.1")
	b, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	var moved bytes.Buffer
	records.Parse(b, func(l records.Line) {
		l.At, l.Since = l.At.Add(-24*time.Hour), l.Since.Add(-24*time.Hour)
		moved.Write(l.Append(nil))
	})
	if err := os.WriteFile(path, moved.Bytes(), 0o600); err != nil {
		w.t.Fatal(err)
	}
}
