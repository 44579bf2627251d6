package launcher

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/needs"
)

// doctorReport is what `kernstash doctor --json -- COMMAND` writes, as far as it is looked at.
type doctorReport struct {
	Findings []struct{ Subject, Verdict, Text, Advice string }
	Uses     []struct {
		What                          string
		Asked, Disk, Compiled, Passed int
	}
	Elapsed float64 `json:"elapsed_ms"`
	Waited  float64 `json:"waited_ms"`
}

// The doctor runs a command with the cache, and says which compilers it loaded and started, what
// the cache was asked for of each, and what was found; what is not served it names, too.
func TestDoctorOfACommand(t *testing.T) {
	t.Parallel()
	lib := cbuild.Library(t)
	ptxas, err := filepath.Abs("../../bin/ptxas")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ptxas); err != nil {
		if ptxas, err = exec.LookPath("ptxas"); err != nil {
			needs.Missing(t, "there is no ptxas", "nvidia-cuda-toolkit, or take ptxas out of it as scripts/drivers does")
		}
	}
	dir := t.TempDir()
	app := lib.CompileAlone(t, []string{filepath.Join(lib.Root, "internal/inputs/testdata/rtc.c")}, "-ldl")
	other := filepath.Join(dir, "libcute_dsl_runtime.so")
	if err := emptyLibrary(other, ""); err != nil {
		t.Fatal(err)
	}
	ptx := filepath.Join(dir, "k.ptx")
	if err := os.WriteFile(ptx, []byte(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := strings.NewReplacer("APP", app, "PTXAS", ptxas, "DIR", dir).Replace(
		// A program that ends at once on a busy machine may end before what it built is stored (decision 086).
		"APP libnvrtc.so.11.2 nvrtc -arch=compute_80 1000 && PTXAS -arch=sm_80 DIR/k.ptx -o DIR/k.cubin && (cd DIR && PTXAS -arch=sm_80 k.ptx) && PTXAS --version && LD_PRELOAD=\"$LD_PRELOAD DIR/libcute_dsl_runtime.so\" /bin/true")
	type use struct{ asked, found, compiled, passed int }
	for process, want := range []map[string]use{
		{"nvrtc": {1, 0, 1, 0}, "ptxas": {2, 0, 1, 1}},
		{"nvrtc": {1, 1, 0, 0}, "ptxas": {2, 1, 0, 1}},
	} {
		cmd := exec.Command(whole(), "doctor", "--json", "--", "/bin/sh", "-c", script)
		cmd.Env = append(os.Environ(), "KERNSTASH_LIBDIR="+lib.Dir, "KERNSTASH_DIR="+filepath.Join(dir, "cache"), "KERNSTASH_WORKER=off")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var r doctorReport
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got := make(map[string]use)
		for _, u := range r.Uses {
			got[u.What] = use{u.Asked, u.Disk, u.Compiled, u.Passed}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(use{})); diff != "" || r.Waited <= 0 || r.Waited > r.Elapsed {
			t.Errorf("process %d: %s, %v of %v ms\n%s", process, diff, r.Waited, r.Elapsed, out)
		}
		for subject, says := range map[string][2]string{
			"NVRTC":               {"ok", "asked for 1 program"},
			"ptxas, as a program": {"ok", "1 passed by"},
			"CuTe DSL (CUTLASS)":  {"info", "not served"},
		} {
			i := slices.IndexFunc(r.Findings, func(f struct{ Subject, Verdict, Text, Advice string }) bool { return f.Subject == subject })
			if i < 0 || r.Findings[i].Verdict != says[0] || !strings.Contains(r.Findings[i].Advice, says[1]) {
				t.Errorf("process %d: of %s this is said:\n%s", process, subject, out)
			}
		}
	}
}
