//go:build !nogpu

package layer_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// entryFiles returns the artifacts below a root.
func entryFiles(t *testing.T, root string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".bin") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A damaged entry never reaches the driver: it is a hole.
func TestDamagedEntryIsAHole(t *testing.T) {
	t.Parallel()
	d := device(t, "INTEL")
	for name, damage := range map[string]func(b []byte) []byte{
		"a bit":    func(b []byte) []byte { b[len(b)-100] ^= 1; return b },
		"half":     func(b []byte) []byte { return b[:len(b)/2] },
		"all":      func([]byte) []byte { return nil },
		"all zero": func(b []byte) []byte { return make([]byte, len(b)) },
	} {
		root := filepath.Join(t.TempDir(), "root")
		h := newHost(t, openLayer(t, root), d)
		h.build(source(1), &none)
		counted(t, h.l, stats.DiskPuts, 1)
		h.l.Settle() // until then who asks is given what was just built
		files := entryFiles(t, root)
		if len(files) != 1 {
			t.Fatalf("%d entries", len(files))
		}
		b, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(files[0], damage(b), 0o600); err != nil {
			t.Fatal(err)
		}
		if p := h.build(source(1), &none); p.String() != "built" {
			t.Errorf("%s: %v", name, p)
		}
		counted(t, h.l, stats.DiskPutsBettered, 1)
		if p := h.build(source(1), &none); p.String() != "restored" {
			t.Errorf("%s, after it was replaced: %v", name, p)
		}
		if n := h.l.Cache.Stats()[stats.Corrupt]; n != 1 {
			t.Errorf("%s: counted %d times", name, n)
		}
	}
}

// A header file that changed makes a hole, and the report names it.
func TestChangedHeaderIsTold(t *testing.T) {
	dir := t.TempDir()
	report := filepath.Join(dir, "report")
	header := filepath.Join(dir, "value.h")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(report, "")
	write(header, "#define VALUE 1\n")
	t.Setenv(runlog.Variable, report)
	l := openLayer(t, filepath.Join(t.TempDir(), "root"))
	h := newHost(t, l, device(t, "INTEL"))
	const code = "#include \"value.h\"\nkernel void k(global int *p) { *p = VALUE; }"
	options := "-I " + dir
	for i, want := range []string{"built", "restored"} {
		if p := h.build(code, &options); p.String() != want {
			t.Errorf("build %d: %v, want %s", i, p, want)
		}
		counted(t, l, stats.DiskPuts, 1)
	}
	write(header, "#define VALUE 20\n")
	if p := h.build(code, &options); p.String() != "built" {
		t.Errorf("after the change: %v", p)
	}
	counted(t, l, stats.DiskPuts, 2)
	l.Settle()
	f, err := os.Open(report)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := runlog.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if s.Outcomes.Compiled != 2 || s.Outcomes.Disk != 1 || s.Garbage != 0 || len(s.FrontEnds) != 1 {
		t.Errorf("the report: %+v", s)
	}
	told := false
	for _, p := range s.Programs {
		told = told || p.Outcome == runlog.Compiled && strings.Contains(p.Nearest, "value.h") && p.Label == "k"
	}
	if !told {
		t.Errorf("nobody tells of value.h: %+v", s.Programs)
	}
}

// A program that cannot be cached is built, and nobody asks for its binary.
func TestUncacheableProgram(t *testing.T) {
	t.Parallel()
	h := newHost(t, openLayer(t, filepath.Join(t.TempDir(), "root")), device(t, "INTEL"))
	const code = "kernel void k(global int *p) { *p = __LINE__ + sizeof(__TIME__); }"
	for range 2 {
		p := h.build(code, &none)
		if p.String() != "built" || p.served.Artifacts[0].Kind != opencl.Deferred || p.number != 0 {
			t.Errorf("%v, %+v", p, p.served)
		}
	}
	h.l.Settle()
	if s := h.l.Cache.Stats(); s[stats.Of(reason.NotCacheableTime)] != 2 || s[stats.DiskPuts] != 0 || s[stats.Builds] != 2 {
		t.Errorf("uncacheable %d, puts %d, builds %d; want 2, 0, 2", s[stats.Of(reason.NotCacheableTime)], s[stats.DiskPuts], s[stats.Builds])
	}
}

// On PoCL a miss is built as without the layer, nothing is asked of it, no build
// lock is kept, and its launches are left for the worker.
func TestMissOnPoCLLeavesAJob(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "job.h"), []byte("#define VALUE 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := openLayer(t, root)
	h := newHost(t, l, device(t, "POCL"))
	const code = "#include \"job.h\"\nkernel void k(global int *p) { *p = VALUE; }"
	options := "-I " + dir
	p := h.build(code, &options)
	if p.String() != "built" || p.number == 0 || p.served.Artifacts[0].Kind != opencl.Deferred {
		t.Fatalf("%v, number %d, %s", p, p.number, p.reason)
	}
	if jobs := spooled(t, l, root, 1); len(jobs[0].Variants) != 0 {
		t.Errorf("launches %v before there is one", jobs[0].Variants)
	}
	other := openLayer(t, root)
	if again := newHost(t, other, device(t, "POCL")).build(code, &options); again.String() != "built" {
		t.Errorf("another frontEnd: %v", again)
	}
	if s := other.Cache.Stats(); s[stats.DiskWaits]+s[stats.Of(reason.PassedBusy)] != 0 {
		t.Errorf("it waited: %v", s)
	}
	for range 3 {
		l.Launched(p.number, "k", [3]uintptr{0, 1024, 64})
		l.Launched(p.number, "k", [3]uintptr{1, 70000, 0}, [3]uintptr{0, 2, 0})
	}
	l.Launched(p.number, "k")
	l.Launched(p.number+100, "k", [3]uintptr{0, 1024, 8})
	jobs := spooled(t, l, root, 1)
	want := "k/64-1-1-goffs0-smallgrid k/auto-70000-2-1"
	if got := strings.Join(jobs[0].Variants, " "); got != want {
		t.Errorf("launches %q, want %q", got, want)
	}
	j := jobs[0]
	if string(j.Recipe.Image.Units()[0].Code) != code || j.Recipe.Options.CompileString() != options || !j.HasLog || j.Cost <= 0 {
		t.Errorf("the job: options %q, log %v, cost %v", j.Recipe.Options.CompileString(), j.HasLog, j.Cost)
	}
	files := j.Recipe.Image.Units()[0].Files
	if len(files) != 1 {
		t.Fatalf("header files %v", files)
	}
	l.Cache.Flush(3 * time.Minute)
	if found := headerFiles(t, root, files[0].Digest.Dir()); !found {
		t.Error("the header file's content is not kept")
	}
	if s := l.Cache.Stats(); s[stats.Delegated] != 1 || s[stats.Of(reason.NotCacheableRuntime)] != 0 || s[stats.Of(reason.NearestNothing)] != 1 {
		t.Errorf("delegated %d, uncacheable %d, explained %d; want 1, 0, 1",
			s[stats.Delegated], s[stats.Of(reason.NotCacheableRuntime)], s[stats.Of(reason.NearestNothing)])
	}
}

// What was built on PoCL is left for the worker even if it is never launched;
// what is served is not, until it is launched in a new way.
func TestUnlaunchedOnPoCLLeavesAJob(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	l := openLayer(t, root)
	h := newHost(t, l, device(t, "POCL"))
	for _, n := range []int{1, 2, 2} {
		p := h.build(source(n), &none)
		if n == 1 {
			l.Launched(p.number, "k", [3]uintptr{0, 64, 64})
		}
		l.Released(p.number)
	}
	jobs := spooled(t, l, root, 2)
	for _, j := range jobs {
		code := string(j.Recipe.Image.Units()[0].Code)
		if n := len(j.Variants); code == source(1) && n != 1 || code == source(2) && n != 0 {
			t.Errorf("launches %v of %s", j.Variants, code)
		}
	}
}

func headerFiles(t *testing.T, root, name string) (found bool) {
	t.Helper()
	_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, _ error) error {
		found = found || strings.HasPrefix(filepath.Base(path), name) || strings.Contains(path, name[2:])
		return nil
	})
	return found
}

// On PoCL nobody waits for another's build: nothing comes of it for others. Each
// is counted and told by who builds.
func TestBuildsAtOnceOnPoCL(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(report, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(runlog.Variable, report)
	l := openLayer(t, filepath.Join(t.TempDir(), "root"))
	h := newHost(t, l, device(t, "POCL"))
	begin := time.Now()
	first, _ := begun(t, h, h.request(source(1), &none))
	second, _ := begun(t, h, h.request(source(1), &none))
	third, _ := begun(t, h, h.request(source(1), &none))
	if took := time.Since(begin); took > 2*time.Minute { // none of them ends
		t.Errorf("they waited %v", took)
	}
	built := []layer.Outcome{{Result: front.Built, Took: time.Second}}
	for _, ticket := range []*layer.Ticket{first, second} {
		if r, ok := ticket.Next(built); !ok || r.Action != front.Done || r.Program == 0 {
			t.Errorf("reply %+v, %v", r, ok)
		}
		ticket.End()
	}
	if r, ok := third.Next([]layer.Outcome{{Result: front.Failed, Took: time.Second}}); !ok || r.Program != 0 {
		t.Errorf("reply %+v, %v", r, ok)
	}
	third.End()
	l.Settle()
	s := l.Cache.Stats()
	if s[stats.Builds] != 3 || s[stats.Delegated] != 2 || s[stats.BuildFailures] != 1 {
		t.Errorf("builds %d, left %d, failures %d", s[stats.Builds], s[stats.Delegated], s[stats.BuildFailures])
	}
	if spent := s.Duration(stats.BuildTime); spent < time.Second || spent >= 3*time.Second { // those at once share it
		t.Errorf("building took %v", spent)
	}
	f, err := os.Open(report)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum, err := runlog.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if o := sum.Outcomes; o.Asked != 3 || o.Compiled != 2 || o.Failed != 1 || sum.Spent != 3*time.Second {
		t.Errorf("the report: %+v, %v", o, sum.Spent)
	}
}

// Of a program for several devices only what is missing is built. PoCL has two
// devices that differ here.
func TestPartialHit(t *testing.T) {
	out := child(t, "partial", "POCL_DEVICES=pthread basic", rootVariable+"="+filepath.Join(t.TempDir(), "root"))
	if want := "[restored built] [built restored]"; out != want {
		t.Errorf("got %s, want %s", out, want)
	}
}

// Where one device of several refuses its artifact, the others keep theirs: that
// of the one is built, and is a job again, which its launch is added to.
func TestOneOfSeveralRefuses(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	out := child(t, "refused", "POCL_DEVICES=pthread basic", rootVariable+"="+filepath.Join(t.TempDir(), "root"))
	want := `["restored" "refused built"] ["restored" "built"], 2 hits, 1 refused, 2 jobs`
	if out != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
}

// A ticket for several devices waits for another process that builds for one of them, where
// something is there for having waited: not on a driver that makes code at launches, but for
// what it compiles.
func TestTicketsOfSeveralDevicesWait(t *testing.T) {
	t.Parallel()
	out := child(t, "locked", "POCL_DEVICES=pthread basic", rootVariable+"="+filepath.Join(t.TempDir(), "root"))
	want := "at once true, action 1, 2 devices, kind deferred; at once false, action 1, 2 devices, kind deferred; "
	if out != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
}

// Threads that ask for what another one compiles, for some of the same devices, are given
// what that makes, and none of them waits for one that waits for it.
func TestThreadsOfSeveralDevicesShare(t *testing.T) {
	t.Parallel()
	out := child(t, "shared", "POCL_DEVICES=pthread basic", rootVariable+"="+filepath.Join(t.TempDir(), "root"))
	want := `true action 1 "\x01" "\x01" done true; true action 1 "\x01" done true; true action 1 "\x01" "\x01" done true; ` +
		"builds 2, waits 5 and 0, hits 0"
	if out != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
}

// 1,000 programs leave nothing behind.
func TestNothingIsLeftBehind(t *testing.T) {
	l := openLayer(t, filepath.Join(t.TempDir(), "root"))
	d := device(t, "INTEL")
	h := newHost(t, l, d)
	r := h.request("kernel void k(global int *p) { *p = 1; }", &none)
	binary := make([]byte, 50_000)
	one := func(n int) {
		r.Units[0].Strings = [][]byte{[]byte(source(n))}
		ticket, reply, ok := l.Ask(r)
		for !ok {
			reply, ok = ticket.Wait(time.Second)
		}
		switch {
		case reply.Action == front.Hit && len(reply.Artifacts[0].Binary) == 0 && n%3 == 0:
			// ended without a word
		case reply.Action == front.Hit && len(reply.Artifacts[0].Binary) == 0:
			ticket.Next([]layer.Outcome{{Result: front.Built, Artifact: layer.Artifact{Binary: binary}}})
		case reply.Action == front.Hit:
			ticket.Next([]layer.Outcome{{Result: front.Restored}})
		default:
			t.Fatalf("%+v", reply)
		}
		ticket.End()
	}
	idle := runtime.NumGoroutine()
	rest := func() (goroutines, descriptors int, heap uint64) {
		l.Settle()
		l.Cache.Flush(3 * time.Minute)
		l.Cache.KeepStats() // which opens a file
		for begin := time.Now(); time.Since(begin) < time.Minute && runtime.NumGoroutine() > idle; {
			time.Sleep(10 * time.Millisecond)
		}
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		// As many are kept for the next locks as were held at once, 16 at most.
		locks := 0
		for _, fd := range fds {
			if name, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.HasSuffix(name, "/.meta/locks") {
				locks++
			}
		}
		if locks > 16 {
			t.Errorf("%d descriptors of locks", locks)
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), len(fds) - locks, m.HeapAlloc
	}
	for n := range 50 {
		one(n)
	}
	g0, f0, h0 := rest()
	for n := range 1000 {
		one(n % 250)
	}
	g1, f1, h1 := rest()
	t.Logf("goroutines %d, then %d; descriptors %d, then %d; heap %d KiB, then %d KiB", g0, g1, f0, f1, h0>>10, h1>>10)
	if g1 > g0 || f1 > f0 || h1 > h0+1<<20 {
		t.Error("something is left behind")
		fds, _ := os.ReadDir("/proc/self/fd")
		for _, fd := range fds {
			name, _ := os.Readlink("/proc/self/fd/" + fd.Name())
			t.Log(fd.Name(), name)
		}
	}
	if s := l.Cache.Stats(); s[stats.Of(reason.PassedPanic)] != 0 || s[stats.DiskHits] < 400 {
		t.Errorf("%d panics, %d hits", s[stats.Of(reason.PassedPanic)], s[stats.DiskHits])
	}
}
