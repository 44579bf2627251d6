//go:build linux && !nogpu

package build_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
)

// await waits until an entry is there, and says so, as worker.Wait does: builds make way for all
// else that the machine does, also for other tests, if nobody waits for them.
func await(t testing.TB, s *disk.Store, k key.Key) {
	t.Helper()
	defer s.RemoveNote(disk.WaitNote)
	var err error
	for i := range 2400 {
		if _, err = s.Get(bg, k); err == nil {
			return
		}
		if i%20 == 0 {
			must(t, s.PutNote(bg, disk.WaitNote, nil))
		}
		time.Sleep(50 * time.Millisecond)
	}
	st, _ := worker.Ask(bg, s)
	t.Fatalf("no entry in two minutes: %v, the worker: %+v", err, st)
}

// starter returns one that starts this binary, which the worker and its builders
// are then.
func starter(t testing.TB, s *disk.Store, policy string, more ...string) *worker.Starter {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	st := worker.NewStarter(worker.StartOptions{
		Jobs:    kernstash.Jobs{Store: s, Policy: policy, Settings: []string{"KERNSTASH_MAX_SIZE=70MiB", "KERNSTASH_EVICTION=lru"}},
		Environ: append(append(environ(t.TempDir()), "KERNSTASH_COMMAND="+self), more...),
	})
	t.Cleanup(st.Close)
	return st
}

// TestStart: whoever adds a job starts a worker that is nobody's, and has nothing
// of who started it; the next one starts none.
func TestStart(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	zero, err := unix.Open("/dev/zero", unix.O_RDONLY, 0) // it would be inherited
	must(t, err)
	defer unix.Close(zero)
	st := starter(t, s, "auto", "LD_PRELOAD=/no/such/lib.so", "OPENCL_LAYERS=/no/such/layer.so", "KERNSTASH_MAX_SIZE=1GiB")
	j := handMade(t, small, smallVariant)
	add(t, s, j)
	st.Start()
	var ask worker.Status
	for range 9000 {
		if ask, err = worker.Ask(bg, s); err != nil || ask.PID != 0 { // a moment after it runs it says so
			break
		}
		young(t, s)
		time.Sleep(20 * time.Millisecond)
	}
	if !ask.Running || ask.PID == 0 {
		t.Fatalf("%+v, %v", ask, err)
	}
	st.Start() // there is one
	// A launch that comes a moment later is built with the first one.
	j.Variants = []string{"k/32-1-1-goffs0-smallgrid"}
	add(t, s, j)
	at := fmt.Sprintf("/proc/%d", ask.PID)
	environ, err := os.ReadFile(at + "/environ")
	must(t, err)
	for _, v := range []string{"LD_PRELOAD", "OPENCL_LAYERS", "MAX_SIZE=1GiB"} {
		if strings.Contains(string(environ), v) {
			t.Errorf("the worker has %s", v)
		}
	}
	for _, v := range []string{"KERNSTASH_MAX_SIZE=70MiB\x00", "KERNSTASH_EVICTION=lru\x00"} {
		if !strings.Contains(string(environ), v) {
			t.Errorf("the worker has no %s", v)
		}
	}
	fds, err := filepath.Glob(at + "/fd/*")
	must(t, err)
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); to == "/dev/zero" {
			t.Error("the worker has inherited a descriptor")
		}
	}
	stat, err := os.ReadFile(at + "/stat")
	must(t, err)
	if fields := strings.Fields(string(stat)); fields[5] != fmt.Sprint(ask.PID) {
		t.Errorf("its session is %s", fields[5])
	}
	await(t, s, j.Key())
	// What is asked to end before it has heard of its builder's success leaves the job.
	if st, err := worker.Wait(bg, s, worker.WaitOptions{}); err != nil || st.Waiting != 0 {
		t.Errorf("what it leaves: %+v, %v", st, err)
	}
	stop(t, s)
	if ask, err := worker.Ask(bg, s); err != nil || ask.Done != 1 || ask.Waiting != 0 {
		t.Errorf("it did not do both launches at once: %+v, %v", ask, err)
	}
}

// young makes the jobs of a spool as young as if they had been added now: a worker leaves
// them alone for a while.
func young(t testing.TB, s *disk.Store) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Dir(), ".meta/spool/*/*.capture*"))
	must(t, err)
	for _, file := range files {
		must(t, os.Chtimes(file, time.Time{}, time.Now()))
	}
}

func stop(t testing.TB, s *disk.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(bg, 3*time.Minute)
	defer cancel()
	_, err := worker.Stop(ctx, s)
	must(t, err)
}

// TestInline: the process does it itself.
func TestInline(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	st := starter(t, s, "inline")
	j := handMade(t, small, smallVariant)
	add(t, s, j)
	st.Start()
	st.Start()
	await(t, s, j.Key())
	if ask, err := worker.Ask(bg, s); err != nil || ask.PID != os.Getpid() {
		t.Errorf("%+v, %v", ask, err)
	}
}

// TestOff: nobody does it.
func TestOff(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	add(t, s, handMade(t, small, smallVariant))
	starter(t, s, "off").Start()
	none := worker.NewStarter(worker.StartOptions{Jobs: kernstash.Jobs{Store: s, Policy: "auto"}, Environ: []string{"PATH=/no/such/directory"}})
	none.Start()
	if s.HasWorker() {
		t.Error("a worker runs")
	}
}

// TestDroppedCaptureIsLeft: what a Go program has no time to capture when it closes
// is built by the worker that it starts.
func TestDroppedCaptureIsLeft(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	must(t, err)
	project := t.TempDir()
	write(t, project, map[string]string{"own.h": "#define OWN 1\n"})
	q := request{
		Root: newDir(t), Source: "#include \"own.h\"\n" + source, Local: 64, Global: 256, Close: true,
	}
	cold := startIn(t, project, q, "KERNSTASH_CLOSE_TIMEOUT=1ns", "KERNSTASH_COMMAND="+self)
	if cold.Origin != kernstash.Compiled {
		t.Errorf("origin %v", cold.Origin)
	}
	s := open(t, q.Root)
	await(t, s, cold.Key)
	stop(t, s)
	q.Close = false
	isWarm(t, cold, startIn(t, project, q))
}

// TestJobOfAKilledWorker: it is done by the worker of the next application that
// launches the same, though nothing is added by that.
func TestJobOfAKilledWorker(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	j := handMade(t, small, smallVariant)
	add(t, s, j) // and its worker was killed
	if res, err := spool.Add(bg, s, j, nil); err != nil || res != spool.Merged || !res.Waits() {
		t.Fatalf("added again: %v, %v", res, err)
	}
	starter(t, s, "auto").Start()
	await(t, s, j.Key())
	stop(t, s)
}
