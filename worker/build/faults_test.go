//go:build linux && !nogpu

package build_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
	"github.com/kernstash/kernstash/worker/build"
)

// handMade returns a job of a source, for PoCL's device in this process's
// environment, without starting an application.
func handMade(t testing.TB, code string, variants ...string) spool.Job {
	t.Helper()
	d, err := device()
	must(t, err)
	image, err := kernstash.NewImage(key.OpenCLC, []byte(code))
	must(t, err)
	r, err := recipeOf(request{}, d, image)
	must(t, err)
	return spool.Job{
		Kind: spool.Capture, Recipe: r, Variants: variants, Cost: time.Second,
		Environment: spool.Take([]string{"OCL_ICD_VENDORS=" + icd}, r, t.TempDir()),
	}
}

const (
	small        = "kernel void k(global int *a) { a[get_global_id(0)] = 1; }"
	smallVariant = "k/64-1-1-goffs0-smallgrid"
)

func add(t testing.TB, s *disk.Store, j spool.Job) {
	t.Helper()
	if _, err := spool.Add(bg, s, j, nil); err != nil {
		t.Fatal(err)
	}
}

func newRoot(t testing.TB) *disk.Store {
	t.Helper()
	return open(t, newDir(t))
}

// newDir returns the directory of a cache that knows the digests of compilers.
func newDir(t testing.TB) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	cbuild.Digests(t, root)
	return root
}

// starved reports whether a build was ended because others had the processor.
func starved(e worker.Ended) bool {
	return e.State == "elsewhere" && strings.HasPrefix(e.Reason, "others had the processor for ")
}

// TestCrashingCompiler: it is asked twice, and the job goes with the reason; the
// next job is done.
func TestCrashingCompiler(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]string{
		"crash":  "twice: the compiler's process ended: signal: killed: LLVM ERROR: out of ideas",
		"hang":   "twice: the build took longer than 300ms",
		"signal": "twice: the compiler's process ended: exit status 2: LLVM ERROR: no idea; SIGABRT: abort",
		"silent": "twice: the builder ended without a word",
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			s := newRoot(t)
			add(t, s, handMade(t, small, smallVariant))
			o := options(t, s, role)
			o.Limit = 3 * time.Minute
			if role == "hang" { // and takes next to no processor time to begin
				o = shell(t, o, "exec sleep 60\n")
				o.Limit = 300 * time.Millisecond
			}
			st := work(t, o)
			for len(st.Last) > 0 && starved(st.Last[0]) { // a busy machine: that is no try, and the job stays
				st = work(t, o)
			}
			st.Last = slices.DeleteFunc(st.Last, starved)
			if st.Refused != 1 || st.Waiting != 0 || len(st.Last) != 2 {
				t.Fatalf("%+v", st)
			}
			if st.Last[1].State != "failed" || st.Last[0].State != "refused" || st.Last[0].Reason != want {
				t.Errorf("%+v, want %q", st.Last, want)
			}
			if n := o.Recorder.(*stats.Counters).Snapshot()[stats.JobsRefused]; n != 1 {
				t.Errorf("%d are counted", n)
			}
			if jobs, err := spool.List(bg, s); err != nil || len(jobs) != 0 {
				t.Errorf("left in the spool: %v, %v", jobs, err)
			}
			asked, err := worker.Ask(bg, s)
			if err != nil || asked.Running || asked.Refused != 1 || asked.Last[0].Reason != want {
				t.Errorf("who asks hears %+v, %v", asked, err)
			}
			// The application is started again, and again.
			if res, err := spool.Add(bg, s, handMade(t, small, smallVariant), nil); err != nil || res != spool.Refused {
				t.Errorf("the same job again: %v, %v", res, err)
			}
			if role != "crash" && !timing.IsLong() {
				return
			}
			add(t, s, handMade(t, small, smallVariant, "k/32-1-1-goffs0-smallgrid"))
			if st := work(t, options(t, s, "builder")); st.Done != 1 {
				t.Errorf("with another launch: %+v", st)
			}
		})
	}
}

// TestKilledWorker: a worker is killed at any moment. Its job stays, its lock and
// its builder go, and what is stored is whole.
func TestKilledWorker(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	times := 5
	if os.Getenv("KERNSTASH_TEST_LONG") == "1" {
		times = 50
	}
	s := newRoot(t)
	self, err := os.Executable()
	must(t, err)
	j := handMade(t, small, smallVariant)
	run := func() *exec.Cmd {
		add(t, s, j)
		cmd := exec.Command(self, "worker", s.Dir(), "builder")
		cmd.Env = environ(t.TempDir())
		must(t, cmd.Start())
		return cmd
	}
	begin := time.Now()
	must(t, run().Wait())
	whole := time.Since(begin)
	must(t, s.Delete(bg, j.Key()))
	done := 0
	for i := range times {
		cmd := run()
		time.Sleep(rand.N(whole * 5 / 4))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		// A builder that was being started has it until it sees that the worker has ended.
		for range 9000 {
			if !s.HasWorker() {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if s.HasWorker() {
			t.Fatalf("%d: the lock is held", i)
		}
		_, getErr := s.Get(bg, j.Key())
		jobs, err := spool.List(bg, s)
		must(t, err)
		switch {
		case getErr == nil:
			done++
			must(t, s.Delete(bg, j.Key()))
		case !errors.Is(getErr, store.ErrNotFound):
			t.Fatal(getErr)
		case len(jobs) != 1:
			t.Fatalf("%d: nothing is stored, and the job is gone: %v", i, jobs)
		}
		for _, e := range jobs {
			if tries := spool.ReadTries(bg, s, &e); tries.Failed > 0 {
				t.Errorf("%d: a worker's end is counted as a compiler's: %+v", i, tries)
			}
			must(t, spool.Remove(bg, s, &e)) // or it would be begun too often
		}
		r, err := s.Verify(bg, false, nil)
		must(t, err)
		if len(r.Problems) > 0 {
			t.Fatalf("%d: %v", i, r.Problems)
		}
	}
	t.Logf("killed %d times within %v, %d of them when the artifact was there", times, whole*5/4, done)
	add(t, s, j)
	if st := work(t, options(t, s, "builder")); st.Done != 1 {
		t.Errorf("the next worker: %+v", st)
	}
	if left, err := os.ReadDir(filepath.Join(s.Dir(), ".meta/work")); err != nil || len(left) > 0 {
		t.Errorf("left by the killed: %v, %v", left, err)
	}
}

// TestBuilderEndsWithItsWorker: be it in the middle of a build.
func TestBuilderEndsWithItsWorker(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	add(t, s, handMade(t, small, smallVariant))
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, "worker", s.Dir(), "long")
	cmd.Env = environ(t.TempDir())
	must(t, cmd.Start())
	pids := filepath.Join(s.Dir(), ".meta/work/*/tree/pid")
	pid := 0
	for range 9000 {
		if found, _ := filepath.Glob(pids); len(found) == 1 {
			if b, err := os.ReadFile(found[0]); err == nil {
				if _, err := fmt.Sscan(string(b), &pid); err == nil {
					break
				}
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	if pid == 0 {
		t.Fatal("no builder was started")
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for range 9000 {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) || zombie(pid) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("builder %d runs on", pid)
}

func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(b), ") Z ")
}

// TestTwoWorkers: one works, the other one says that there is one.
func TestTwoWorkers(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	add(t, s, handMade(t, small, smallVariant))
	o := options(t, s, "builder")
	building, begin := make(chan struct{}), make(chan struct{})
	o.Progress = func(st worker.Status) {
		if st.Building != "" {
			building <- struct{}{}
			<-begin
		}
	}
	first := make(chan worker.Status, 1)
	go func() {
		st, _ := worker.Run(bg, o)
		first <- st
	}()
	<-building
	other := open(t, s.Dir())
	if _, err := worker.Run(bg, options(t, other, "builder")); !errors.Is(err, store.ErrLocked) {
		t.Errorf("the second worker: %v", err)
	}
	if st, err := worker.Ask(bg, other); err != nil || !st.Running {
		t.Errorf("who asks: %+v, %v", st, err)
	}
	close(begin)
	if st, err := worker.Wait(bg, other, worker.WaitOptions{}); err != nil || st.Waiting != 0 {
		t.Errorf("who waits: %+v, %v", st, err)
	}
	if st := <-first; st.Done != 1 {
		t.Errorf("the first worker: %+v", st)
	}
}

// TestStop: the build that is under way is ended, and its job stays as it was.
func TestStop(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	add(t, s, handMade(t, small, smallVariant))
	o := options(t, s, "hang")
	building := make(chan struct{}, 10)
	o.Progress = func(st worker.Status) {
		if st.Building != "" {
			building <- struct{}{}
		}
	}
	ended := make(chan worker.Status, 1)
	go func() {
		st, _ := worker.Run(bg, o)
		ended <- st
	}()
	<-building
	ctx, cancel := context.WithTimeout(bg, 3*time.Minute)
	defer cancel()
	if was, err := worker.Stop(ctx, open(t, s.Dir())); !was || err != nil {
		t.Fatalf("stop: %v, %v", was, err)
	}
	if st := <-ended; st.End != "asked to" || st.Waiting != 1 || st.Refused+st.Done != 0 {
		t.Errorf("%+v", st)
	}
	jobs, err := spool.List(bg, s)
	must(t, err)
	if len(jobs) != 1 || spool.ReadTries(bg, s, &jobs[0]).Failed != 0 {
		t.Errorf("jobs: %v", jobs)
	}
	if was, err := worker.Stop(ctx, s); was || err != nil {
		t.Errorf("with no worker: %v, %v", was, err)
	}
	// What was asked before does not end the next one.
	if st := work(t, options(t, s, "builder")); st.Done != 1 {
		t.Errorf("the next: %+v", st)
	}
}

// TestRefusedJobs: a job whose key is another one here is not built, and the
// reason says what differs.
func TestRefusedJobs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(j *spool.Job)
		state  string
		reason string
	}{
		{"a variable", func(j *spool.Job) {
			j.Recipe.Options.Variables = append(j.Recipe.Options.Variables, key.Pair{Name: "POCL_WORK_GROUP_METHOD", Value: "cbs"})
		}, "refused", "here it has another key: its options, or a variable that the compiler obeys differs"},
		{
			"the device", func(j *spool.Job) { j.Recipe.Device.Driver += "x" }, "elsewhere",
			"no such device here, though one of its name with another driver, compiler or trait",
		},
		{"the compiler", func(j *spool.Job) {
			j.Recipe.Device.Compiler = append(slices.Clone(j.Recipe.Device.Compiler), key.Pair{Name: "libx", Value: "1"})
		}, "elsewhere", "no such device here, though"},
		{"another API", func(j *spool.Job) { j.Recipe.Device.API = "cuda" }, "elsewhere", `there is no builder for "cuda"`},
		{"nothing to finish", func(j *spool.Job) { j.Kind = spool.Finish }, "void", "the entry to finish is gone"},
		{
			"no such driver", func(j *spool.Job) { j.Environment.Variables = []key.Pair{{Name: "OCL_ICD_VENDORS", Value: "/nowhere"}} },
			"elsewhere", "no ",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newRoot(t)
			j := handMade(t, small, smallVariant)
			tt.change(&j)
			add(t, s, j)
			st := work(t, options(t, s, "builder"))
			if len(st.Last) != 1 || st.Last[0].State != tt.state || !strings.HasPrefix(st.Last[0].Reason, tt.reason) {
				t.Fatalf("%+v, want %s: %s", st, tt.state, tt.reason)
			}
			jobs, err := spool.List(bg, s)
			must(t, err)
			if kept := len(jobs) == 1; kept != (tt.state == "elsewhere") {
				t.Errorf("left: %v", jobs)
			}
			if _, err := s.Get(bg, j.Key()); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("it was stored: %v", err)
			}
		})
	}
}

// TestCompilerThatRefuses: what an application had built is tried again, by another
// worker, before it is given up, with the reason.
func TestCompilerThatRefuses(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	j := handMade(t, "kernel void k( {", "k/64-1-1-goffs0-smallgrid")
	add(t, s, j)
	const reason = "the compiler refused it"
	st := work(t, options(t, s, "builder"))
	if len(st.Last) != 1 || st.Last[0].State != "failed" || !strings.HasPrefix(st.Last[0].Reason, reason) || st.Waiting != 1 {
		t.Errorf("the first time: %+v", st)
	}
	add(t, s, j)
	st = work(t, options(t, s, "builder"))
	if len(st.Last) != 2 || st.Last[0].State != "refused" || !strings.HasPrefix(st.Last[0].Reason, "twice: "+reason) || st.Waiting != 0 {
		t.Errorf("the second time: %+v", st)
	}
	if res, err := spool.Add(bg, s, j, nil); err != nil || res != spool.Refused {
		t.Errorf("the third time: %v, %v", res, err)
	}
	st, err := worker.Ask(bg, s)
	must(t, err)
	if len(st.GivenUp) != 1 || st.GivenUp[0].Job != j.Name() || !strings.HasPrefix(st.GivenUp[0].Reason, "twice: "+reason) {
		t.Errorf("who asks is told %+v", st.GivenUp)
	}
}

// TestJobsThatAreNeverDoneGo: where workers are killed each time.
func TestJobsThatAreNeverDoneGo(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	add(t, s, handMade(t, small, smallVariant))
	jobs, err := spool.List(bg, s)
	must(t, err)
	must(t, spool.WriteTries(bg, s, &jobs[0], spool.Tries{Begun: 20}))
	if st := work(t, options(t, s, "builder")); st.Refused != 1 || st.Waiting != 0 || !strings.Contains(st.Last[0].Reason, "begun 20 times") {
		t.Errorf("%+v", st)
	}
}

// TestJobsOfOtherMachinesStay: however often a machine without their device looks at
// them. A worker that waits for more jobs does not look again for a while.
func TestJobsOfOtherMachinesStay(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*key.Device){
		"another API":    func(d *key.Device) { d.API = "cuda" },
		"another driver": func(d *key.Device) { d.Driver = "99.9" },
	} {
		s := newRoot(t)
		j := handMade(t, small, smallVariant)
		change(&j.Recipe.Device)
		add(t, s, j)
		jobs, err := spool.List(bg, s)
		must(t, err)
		must(t, spool.WriteTries(bg, s, &jobs[0], spool.Tries{Begun: 19}))
		for range 3 {
			if st := work(t, options(t, s, "builder")); st.Kept != 1 || st.Waiting != 1 || st.Last[0].State != "elsewhere" {
				t.Fatalf("%s: %+v", what, st)
			}
		}
		if tries := spool.ReadTries(bg, s, &jobs[0]); tries.Begun != 19 {
			t.Errorf("%s: %+v", what, tries)
		}
		o := options(t, s, "builder")
		o.Once, o.Idle, o.Quiet = false, time.Millisecond, time.Millisecond
		if st := work(t, o); st.Kept != 1 || st.Waiting != 1 || st.CPU != 0 {
			t.Errorf("%s: a worker that waits: %+v", what, st)
		}
	}
}

// TestHostileSpool: what is no job costs a refusal at most.
func TestHostileSpool(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	add(t, s, handMade(t, small, smallVariant))
	jobs, err := spool.List(bg, s)
	must(t, err)
	env := filepath.Join(s.Dir(), ".meta/spool", jobs[0].Environment)
	b, err := os.ReadFile(filepath.Join(env, jobs[0].Name))
	must(t, err)
	name := func(i int) string { return filepath.Join(env, fmt.Sprintf("%032x.capture", i)) }
	must(t, os.WriteFile(name(1), b[:len(b)-1], 0o600))
	must(t, os.WriteFile(name(2), b, 0o600))
	must(t, syscall.Mkfifo(name(3), 0o600))
	must(t, os.Symlink(filepath.Join(env, jobs[0].Name), name(4)))
	must(t, os.WriteFile(name(5), nil, 0o600))
	must(t, os.Truncate(name(5), 1<<40))
	st := work(t, options(t, s, "builder"))
	if st.Done != 1 || st.Waiting > 2 {
		t.Errorf("%+v", st)
	}
	for _, e := range st.Last {
		t.Logf("%s %s", e.State, e.Reason)
	}
}

// TestEqualJobs: some processes note the same; one job is done.
func TestEqualJobs(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	processes := 4
	if os.Getenv("KERNSTASH_TEST_LONG") == "1" {
		processes = 8
	}
	s := newRoot(t)
	q := request{Root: s.Dir(), Source: source, Local: 64, Global: 256, Spool: true}
	answers := make(chan answer, processes)
	for range processes {
		go func() { answers <- start(t, q) }()
	}
	var a answer
	for range processes {
		a = <-answers
	}
	if st := work(t, options(t, s, "builder")); st.Done != 1 || len(st.Last) != 1 || st.Waiting != 0 {
		t.Errorf("%+v", st)
	}
	if _, err := s.Get(bg, a.Key); err != nil {
		t.Error(err)
	}
}

// TestBudget: nothing more is begun when the processor time is spent.
func TestBudget(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	add(t, s, handMade(t, small, smallVariant))
	add(t, s, handMade(t, small+"\n", smallVariant))
	o := options(t, s, "builder")
	o.Budget = time.Millisecond
	if st := work(t, o); st.Done != 1 || st.Waiting != 1 || st.CPU < o.Budget {
		t.Errorf("a millisecond: %+v", st)
	}
}

// TestRebuild: an entry that is not there, of a job that knows no launch but those
// that the earlier one had.
func TestRebuild(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	j := handMade(t, small, smallVariant)
	j.Kind = spool.Rebuild
	add(t, s, j)
	if st := work(t, options(t, s, "builder")); st.Done != 1 || st.Last[0].State != "stored" {
		t.Errorf("%+v", st)
	}
}

// TestBuilderIsAlone: a builder has the lowest priority, the worker's three pipes and
// no descriptor more, a directory of its own, and nothing that loads libraries.
func TestBuilderIsAlone(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	add(t, s, handMade(t, small, smallVariant))
	zero, err := unix.Open("/dev/zero", unix.O_RDONLY, 0) // it would be inherited
	must(t, err)
	defer unix.Close(zero)
	o := options(t, s, "report")
	o.NormalPriority = false
	o.Environ = append(os.Environ(), "LD_PRELOAD=/no/such/lib.so", "KERNSTASH_TRACE=all", "SECRET=1")
	st := work(t, o)
	var r report
	if len(st.Last) != 1 || json.Unmarshal([]byte(st.Last[0].Reason), &r) != nil {
		t.Fatalf("%+v", st)
	}
	if r.Policy != 5 || r.Nice != 19 || r.IO>>13 != 3 || r.OOM != "1000" {
		t.Errorf("scheduling policy %d, want 5 (SCHED_IDLE); nice %d, want 19; disk class %d, want 3 (idle); OOM %s, want 1000", r.Policy, r.Nice, r.IO>>13, r.OOM)
	}
	if _, err := os.Stat("/proc/self/autogroup"); err == nil && r.Session != "nice 19" {
		t.Errorf("its session has %q among sessions, want nice 19", r.Session)
	}
	for _, fd := range r.Files {
		if !strings.HasPrefix(fd, "0 pipe:") && !strings.HasPrefix(fd, "1 pipe:") && !strings.HasPrefix(fd, "2 pipe:") && !strings.HasPrefix(fd, "3 pipe:") &&
			!strings.Contains(fd, "anon_inode:") && !strings.Contains(fd, "/proc/") && !strings.Contains(fd, " /sys/fs/cgroup/") { // Go's own
			t.Errorf("descriptor %s", fd)
		}
	}
	if r.Group != r.PID {
		t.Errorf("process %d is of group %d", r.PID, r.Group)
	}
	if !strings.HasPrefix(r.Dir, s.Dir()+"/.meta/work/") {
		t.Errorf("it works in %s", r.Dir)
	}
	for _, v := range r.Environ {
		if name, _, _ := strings.Cut(v, "="); name == "LD_PRELOAD" || name == "SECRET" || strings.HasPrefix(name, "KERNSTASH_") {
			t.Errorf("it has %s", v)
		}
	}
	if !slices.Contains(r.Environ, "OCL_ICD_VENDORS="+icd) {
		t.Errorf("it has not what the job says: %q", r.Environ)
	}
}

// report is what a builder says of itself.
type report struct {
	PID, Group, Nice, IO int
	Policy               uint32
	OOM, Dir, Session    string
	Files, Environ       []string
}

func reportRole(args []string) int {
	build.Begin()
	r := report{PID: os.Getpid(), Group: unix.Getpgrp(), Environ: os.Environ()}
	attr, err := unix.SchedGetAttr(0, 0)
	if err == nil {
		r.Policy, r.Nice = attr.Policy, int(attr.Nice)
	}
	io, _, _ := unix.Syscall(unix.SYS_IOPRIO_GET, 1, 0, 0)
	r.IO = int(io)
	oom, _ := os.ReadFile("/proc/self/oom_score_adj")
	r.OOM = strings.TrimSpace(string(oom))
	session, _ := os.ReadFile("/proc/self/autogroup") // "/autogroup-12 nice 19"; none where the kernel has none
	_, r.Session, _ = strings.Cut(strings.TrimSpace(string(session)), " ")
	r.Dir, _ = os.Getwd()
	names, _ := os.ReadDir("/proc/self/fd")
	for _, n := range names {
		if to, err := os.Readlink("/proc/self/fd/" + n.Name()); err == nil {
			r.Files = append(r.Files, n.Name()+" "+to)
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return 1
	}
	_ = json.NewEncoder(os.NewFile(3, "outcome")).Encode(spool.Outcome{State: spool.JobRefused, Reason: string(text)})
	return 0
}
