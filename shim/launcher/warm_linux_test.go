package launcher

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tells returns a command that has requests with these outcomes, and ends with a status.
func tells(status string, outcomes ...string) []string {
	script := ""
	for _, o := range outcomes {
		outcome, why, _ := strings.Cut(o, ":")
		script += `echo '{"event":"asked","pid":7,"exe":"/bin/solver","key":"ab12","label":"reduce","outcome":"` + outcome + `","reason":"` + why +
			`","ended":"'$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)'","spent_ms":20,"waiting_ms":5}' >>$KERNSTASH_REPORT; `
	}
	return []string{"sh", "-c", script + "exit " + status}
}

// TestExpectWarm: 3 is the status of a command that ended well, and was not warm; its own failure is told before that.
// It is so with the launcher, and without it.
func TestExpectWarm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		command []string
		flags   []string
		want    string
		says    string
	}{
		{"warm", tells("0", "disk", "memory", "passed:binary"), nil, "0", ""},
		{"compiled", tells("0", "disk", "compiled"), nil, "3", "not warm: of 2 programs 1 compiled"},
		{"refused", tells("0", "failed"), nil, "3", "1 refused by the compiler"},
		{"passed", tells("0", "disk", "passed:too many"), nil, "3", "1 passed by the cache"},
		{"nothing asked", []string{"true"}, nil, "3", "not warm: nothing was asked of the cache"},
		{"switched off", tells("0", "disk"), []string{"--no-cache"}, "0", ""}, // whoever asks is believed
		{"quiet", tells("0", "compiled"), []string{"-q"}, "3", ""},
		{"quiet and warm", tells("0", "disk"), []string{"-q"}, "0", ""},
		{"its own failure", tells("9", "compiled"), nil, "9", "not warm"},
		{"its own failure, nothing asked", []string{"false"}, nil, "1", "not warm"},
		{"no such command", []string{"no-such-program-anywhere"}, nil, "127", ""},
	} {
		for _, run := range []func([]string, ...string) *exec.Cmd{under, alone} {
			cmd := run(append([]string{"--expect-warm"}, tt.flags...), tt.command...)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			if got := status(t, cmd); got != tt.want || !strings.Contains(stderr.String(), tt.says) || tt.says == "" && strings.Contains(stderr.String(), "not warm") {
				t.Errorf("%s: %s: %s, want %s and %q\n%s", tt.name, cmd.Path, got, tt.want, tt.says, stderr.String())
			}
		}
	}
	if got := status(t, under([]string{"--expect-warm"}, "sh", "-c", "kill -TERM $$")); got != "terminated" {
		t.Errorf("a command that dies by a signal: %s", got)
	}
}

// TestExpectWarmNamesWhatWasCompiled: each program, and none of the others.
func TestExpectWarmNamesWhatWasCompiled(t *testing.T) {
	t.Parallel()
	cmd := under([]string{"--expect-warm"}, tells("0", "disk", "compiled:miss.absent")...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if got := status(t, cmd); got != "3" {
		t.Errorf("status %s", got)
	}
	_, list, _ := strings.Cut(stderr.String(), "not warm")
	if !strings.Contains(list, "reduce") || !strings.Contains(list, "compiled") || strings.Contains(list, "disk") {
		t.Errorf("the list is\n%s", list)
	}
	out, err := under([]string{"--expect-warm", "--json"}, tells("0", "compiled")...).CombinedOutput()
	var report struct{ Cold string }
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("%v", err)
	}
	if err := json.Unmarshal(out, &report); err != nil || !strings.Contains(report.Cold, "1 compiled") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestExpectWarmWithoutAReport: where nobody can tell, nobody says that it was warm.
func TestExpectWarmWithoutAReport(t *testing.T) {
	t.Parallel()
	copied := filepath.Join(t.TempDir(), "tree")
	if err := os.CopyFS(copied, os.DirFS(tree)); err != nil {
		t.Fatal(err)
	}
	// The whole command prepares the run, then it is gone.
	full := filepath.Join(copied, "lib", "kernstash", "kernstash-full")
	cmd := exec.Command(filepath.Join(copied, "bin", "kernstash"), "run", "--expect-warm", "--", "rm", full)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if got := status(t, cmd); got != "125" || !strings.Contains(stderr.String(), "no report") {
		t.Errorf("%s\n%s", got, stderr.String())
	}
}

// TestTraceFile: the trace of a run is there though nothing is to be said, with the request in the run's time.
func TestTraceFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "trace.json")
	for _, run := range []func([]string, ...string) *exec.Cmd{under, alone} {
		if got := status(t, run([]string{"-q", "--trace", file}, tells("4", "disk", "compiled")...)); got != "4" {
			t.Errorf("status %s", got)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var trace struct {
			TraceEvents []struct {
				Name, Ph string
				TS, Dur  float64
			}
		}
		if err := json.Unmarshal(b, &trace); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		length, names := 0.0, ""
		for _, e := range trace.TraceEvents {
			if e.Ph != "X" {
				continue
			}
			if length == 0 {
				length = e.Dur // the command is the first
			}
			names += "; " + e.Name
			const coarse = 30e3 // the clock of files
			if e.TS+e.Dur > length+coarse {
				t.Errorf("%s ends %v µs after the beginning of a run of %v µs", e.Name, e.TS+e.Dur, length)
			}
		}
		for _, want := range []string{"; loading reduce", "; compiling reduce", "; waiting reduce"} {
			if !strings.Contains(names, want) {
				t.Errorf("%q is not in %q", want, names)
			}
		}
	}
	if got := status(t, under([]string{"--trace", "/no/such/dir/file"}, "true")); got != "125" {
		t.Errorf("no file: %s", got)
	}
}
