//go:build linux && !nogpu

package build_test

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
)

// takeProcessors leaves no processor to who makes way for others, until the test ends.
func takeProcessors(t *testing.T) {
	t.Helper()
	for range 2 * runtime.NumCPU() {
		cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
		must(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
}

// TestStarvedCompiler: a compiler that took too long because others had the processor,
// for which it makes way, is not to blame: the job stays.
func TestStarvedCompiler(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	add(t, s, handMade(t, small, smallVariant))
	o := options(t, s, "spin")
	o.NormalPriority, o.Limit = false, 2*time.Second
	takeProcessors(t)
	st := work(t, o)
	if st.Kept != 1 || st.Waiting != 1 || len(st.Last) != 1 || st.Last[0].State != "elsewhere" || !strings.HasPrefix(st.Last[0].Reason, "others had the processor for ") {
		t.Fatalf("%+v", st)
	}
	jobs, err := spool.List(bg, s)
	must(t, err)
	if tries := spool.ReadTries(bg, s, &jobs[0]); tries.Failed != 0 {
		t.Errorf("it counts as the compiler's failure: %+v", tries)
	}
}

// spinIfIdle never does a job at the lowest priority, and at any other at once.
func spinIfIdle(context.Context, *disk.Store, *spool.Job, string) spool.Outcome {
	attr, err := unix.SchedGetAttr(0, 0)
	for n := 0; err == nil && attr.Policy == unix.SCHED_IDLE; n++ {
		_ = n
	}
	return spool.Outcome{State: spool.JobVoid, Reason: "at normal priority"}
}

// TestWaitRaisesPriority: while somebody waits, a job is built at normal priority, and one that is kept from the
// processor already is begun anew. Who waits nicely changes nothing.
func TestWaitRaisesPriority(t *testing.T) {
	t.Parallel()
	takeProcessors(t)
	for _, tt := range []struct {
		name  string
		begun bool // the builder is, before somebody waits
		nice  bool
	}{
		{name: "before it begins"},
		{name: "after it has begun", begun: true},
		{name: "nicely", begun: true, nice: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newRoot(t)
			add(t, s, handMade(t, small, smallVariant))
			o := options(t, s, "idle")
			o.NormalPriority, o.Limit = false, 2*time.Minute
			building, done := make(chan bool, 1), make(chan worker.Status, 1)
			o.Progress = func(st worker.Status) {
				if st.Building != "" {
					select {
					case building <- true:
					default:
					}
				}
			}
			ctx, stop := context.WithCancel(bg)
			defer stop()
			run := func() bool {
				go func() {
					st, _ := worker.Run(ctx, o)
					done <- st
				}()
				return true
			}
			wait := worker.WaitOptions{Start: run, Nice: tt.nice}
			if tt.begun {
				run()
				<-building
			}
			waits := bg
			if tt.nice {
				waits = within(t, 3*time.Second)
			}
			left, err := worker.Wait(waits, s, wait)
			if tt.nice {
				if err == nil || left.Waiting != 1 || left.Building == "" {
					t.Errorf("who waits nicely: %v, %+v", err, left)
				}
				stop()
				<-done
				return
			}
			must(t, err)
			st := <-done
			if left.Waiting != 0 || len(st.Last) != 1 || st.Last[0].Reason != "at normal priority" {
				t.Errorf("%+v", st)
			}
			if _, _, err := s.ReadNote(disk.WaitNote); err == nil {
				t.Error("the note of who waited is left")
			}
		})
	}
}

// within returns a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(bg, d)
	t.Cleanup(cancel)
	return ctx
}
