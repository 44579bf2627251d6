//go:build linux

package hosts_test

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// TestRecords: an unchanged application, which ends without telling us, is known by its name to have used what it hit, and
// by what it missed; with the setting records off nothing is known of it.
func TestRecords(t *testing.T) {
	t.Parallel()
	kernstash := stage.Command(t)
	for _, set := range []string{"1", "0"} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			s := stage.New(t, stage.PoCL)
			env := append(s.WithLibrary(t), "KERNSTASH_RECORDS="+set)
			first := s.MustRun(t, env, "observe", "run")
			s.MustRun(t, env, kernstash, "worker", "run", "--quiet", "--normal-priority", "--idle", "1ms")
			ask := func(args ...string) []byte {
				t.Helper()
				out, err := exec.Command(kernstash, append(args, "--json", "--dir", s.Path("cache"))...).Output()
				if err != nil {
					t.Fatalf("%v: %v", args, err)
				}
				return out
			}
			if set == "0" {
				s.MustRun(t, env, "observe", "run")
				if misses, hits := ask("why"), ask("ls", "--app", "observe"); string(misses) != "[]\n" || len(hits) > 0 {
					t.Errorf("%s\n%s", misses, hits)
				}
				return
			}
			var misses []struct {
				App, Key, Was string
				Kernels       []string
			}
			if err := json.Unmarshal(ask("why"), &misses); err != nil {
				t.Fatal(err)
			}
			if len(misses) != 1 || misses[0].App != "observe" || misses[0].Was != "never seen" || !slices.Equal(misses[0].Kernels, []string{"scale", "second", "third"}) {
				t.Fatalf("misses: %+v", misses)
			}
			// PoCL makes code at launches, and is asked for no binary: the kernels' names are known nevertheless.
			if !strings.Contains(first.Report, `"label":"scale, second, third","outcome":"compiled"`) {
				t.Errorf("reported:\n%s", first.Report)
			}
			var entry struct {
				Key  string
				Hits int
				Apps []struct{ App string }
			}
			const runs = 5
			for range runs {
				s.MustRun(t, env, "observe", "run")
			}
			if out := ask("ls", "--app", "observe"); json.Unmarshal(out, &entry) != nil {
				t.Fatalf("%s", out)
			}
			if entry.Key != misses[0].Key || entry.Hits != runs || len(entry.Apps) != 1 {
				t.Errorf("after %d runs: %+v", runs, entry)
			}
		})
	}
}

// TestCheap: what takes less to build than min-build-time is not left to a worker, and why says so.
func TestCheap(t *testing.T) {
	t.Parallel()
	kernstash := stage.Command(t)
	s := stage.New(t, stage.PoCL)
	env := append(s.WithLibrary(t), "KERNSTASH_MIN_BUILD_TIME=1h")
	s.MustRun(t, env, "observe", "run")
	for command, want := range map[string]string{
		"ls":            "the cache is empty\n",
		"why":           "not cacheable: cheap to build (min-build-time is 1h0m0s); it was built in ",
		"worker status": "\n0 jobs waiting",
	} {
		out, err := exec.Command(kernstash, append(strings.Fields(command), "--dir", s.Path("cache"))...).Output()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %s%v, want %s", command, out, err, want)
		}
	}
}

// TestWaiting: of what waits for a worker, as all does on PoCL after the first run, ls and why say so.
func TestWaiting(t *testing.T) {
	t.Parallel()
	kernstash := stage.Command(t)
	s := stage.New(t, stage.PoCL)
	env := s.WithLibrary(t)
	s.MustRun(t, env, "observe", "run")
	s.MustRun(t, env, "observe", "run")
	for args, want := range map[string]string{
		"ls":                 "the cache is empty; 1 program waits for a worker: 'kernstash worker wait'\n",
		"ls --app=observe":   "nothing that observe used is in the cache yet; 1 program waits for a worker: 'kernstash worker wait'\n",
		"ls --app=other":     "other is not known to have used anything; known are observe\n",
		"ls --kernel=second": "no entry is one of those that are asked for\n",
		"why":                "seen before, but not kept; it waits for a worker\n",
	} {
		out, err := exec.Command(kernstash, append(strings.Fields(args), "--dir", s.Path("cache"))...).Output()
		if err != nil || string(out) != want && (args != "why" || !strings.Contains(string(out), want)) {
			t.Errorf("%s: %s%v, want %s", args, out, err, want)
		}
	}
}
