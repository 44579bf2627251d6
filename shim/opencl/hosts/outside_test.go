//go:build linux

package hosts_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk"
)

// outcomes are the requests in a process's report, by outcome and reason.
func outcomes(t *testing.T, r stage.Result) map[string]int {
	t.Helper()
	s, err := runlog.Read(strings.NewReader(r.Report))
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]int)
	for _, p := range s.Programs {
		what := strings.TrimSuffix(string(p.Outcome)+": "+p.Reason, ": ")
		if p.Layer != "" {
			what += ", from " + p.Layer
		}
		all[what] += p.Requests
	}
	return all
}

// Of threads that build one program at once, each is told why the driver compiled it, or
// finds what another one built.
func TestThreadsOfAnApplicationHaveReasons(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.PoCL)
	source := s.Path("work") + "/a.cl"
	if err := os.WriteFile(source, []byte("kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.MustRun(t, s.WithLibrary(t), "threads", source)
	requests := 0
	got := outcomes(t, r)
	for what, n := range got {
		requests += n
		switch what {
		case "compiled: miss.absent", "compiled: another thread was building it", "disk":
		default:
			t.Errorf("%d times %q", n, what)
		}
	}
	if requests != 3 || got["compiled: miss.absent"] == 0 {
		t.Errorf("outcomes %v", got)
	}
}

// Sources that differ in the random name of pyopencl's constant alone are one, unless that name
// may mean something: then nothing is kept, and the report says why.
func TestRandomNameOfAnApplication(t *testing.T) {
	t.Parallel()
	const (
		code  = "kernel void k(global int *a) { a[get_global_id(0)] *= 2; }\n"
		named = "#define NAME pyopencl_defeat_cache_00000000000000000000000000000000\n" + code
	)
	s := stage.New(t, stage.Intel)
	env := s.WithLibrary(t)
	for i, test := range []struct{ code, want string }{
		{code, "compiled: miss.absent"},
		{code, "disk"},
		{named, "random name"},
		{named, "random name"},
		{strings.Replace(code, "2", "3", 1), "compiled: miss"},
	} {
		source := s.Path("work") + "/a.cl"
		random := fmt.Sprintf("\n\n__constant int pyopencl_defeat_cache_%032x = 0;", i)
		if err := os.WriteFile(source, []byte(test.code+random), 0o600); err != nil {
			t.Fatal(err)
		}
		got := outcomes(t, s.MustRun(t, env, "file", source))
		for what, n := range got {
			if !strings.Contains(what, test.want) || n != 1 {
				t.Errorf("start %d: %d times %q, want %q", i, n, what, test.want)
			}
		}
		if len(got) != 1 {
			t.Errorf("start %d: %v", i, got)
		}
	}
}

// What an application launches on a driver that makes code at launches leaves one job, however
// often it starts; a worker does it, and then the application compiles nothing and leaves no
// job.
func TestLaunchesOfAnApplicationAreBuilt(t *testing.T) {
	t.Parallel()
	kernstash := stage.Command(t)
	s := stage.New(t, stage.PoCL)
	env := s.WithLibrary(t)
	store := disk.New(disk.Options{Dir: s.Path("cache")})
	defer store.Close()
	start := func(want string, jobs int) {
		t.Helper()
		got := outcomes(t, s.MustRun(t, env, "observe", "run"))
		if len(got) != 1 || got[want] == 0 {
			t.Errorf("outcomes %v, want %q", got, want)
		}
		if left, err := spool.List(t.Context(), store); err != nil || len(left) != jobs {
			t.Errorf("%d jobs, want %d: %v", len(left), jobs, err)
		}
	}
	start("compiled: miss.absent", 1)
	start("compiled: miss.absent", 1)
	s.MustRun(t, env, kernstash, "worker", "run", "--quiet", "--normal-priority", "--idle", "1ms")
	start("disk", 0)
}
