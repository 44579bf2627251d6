//go:build linux

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/faultfs"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// faulty is one run of a scenario in which calls fail. What must hold whatever
// fails, it checks.
type faulty struct {
	t       *testing.T
	name    string
	plan    *faultfs.Plan
	absence bool // the faults may tell that a file is not there
	s       *Store
	counted stats.Counters
	clock   *clock
	entries map[key.Key]*store.Entry
	stored  map[key.Key]bool // puts that succeeded, before any was evicted
	damaged string           // the file that the scenario damages
	again   bool             // the scenario was played before
	random  bool             // several calls fail
}

func newFaulty(t *testing.T, name string, plan *faultfs.Plan, absence bool, b safefs.Options) *faulty {
	f := &faulty{
		t: t, name: name, plan: plan, absence: absence, clock: &clock{at: time.Now()},
		entries: make(map[key.Key]*store.Entry), stored: make(map[key.Key]bool),
	}
	b.Hook = plan.Hook()
	dir, err := os.MkdirTemp(quickDir(), "kernstash-fault-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	o := Options{
		Dir: filepath.Join(dir, "up", "root"), MaxSize: 6 * each,
		Recorder: &f.counted, Now: f.clock.now,
	}.WithFiles(b)
	o.hooks.OffFor = time.Nanosecond
	f.s = New(o)
	return f
}

// quickDir is a directory in memory, where there is one.
func quickDir() string {
	if exists("/dev/shm") {
		return "/dev/shm"
	}
	return os.TempDir()
}

func (f *faulty) errorf(format string, args ...any) {
	f.t.Helper()
	hits := f.plan.Hits()
	f.t.Errorf("%s: %s; faults %v", f.name, fmt.Sprintf(format, args...), hits[:min(len(hits), 5)])
}

// clean returns a store of the same root whose calls do not fail.
func (f *faulty) clean() *Store {
	o := f.s.o
	o.Recorder, o.hooks = stats.Noop{}, hooks{}
	return New(o)
}

func (f *faulty) entry(seed string, better bool) *store.Entry {
	e := storetest.New(f.t, seed, 1500)
	if !better {
		e.Artifact.Binaries[0].Form = store.FormIntermediate
	}
	f.entries[e.Key] = e
	return e
}

// get asks for an entry: right, or a miss whose reason is not a lie.
func (f *faulty) get(e *store.Entry) {
	f.t.Helper()
	_, there := os.Lstat(binPath(f.s, e.Key))
	got, err := f.s.Get(bg, e.Key)
	var miss *store.MissError
	switch {
	case err == nil:
		f.right(e.Key, got)
	case !errors.As(err, &miss):
		f.errorf("get: %v is no miss", err)
	case there == nil && !f.absence && miss.Reason == reason.MissAbsent && exists(binPath(f.s, e.Key)):
		f.errorf("get: %v, but it is there", err)
	}
}

// right checks that an entry is byte for byte one that was put.
func (f *faulty) right(k key.Key, got *store.Entry) {
	f.t.Helper()
	want := f.entries[k]
	if got.Key != k || !slices.EqualFunc(got.Artifact.Binaries, want.Artifact.Binaries, func(a, b store.Binary) bool {
		return string(a.Data) == string(b.Data)
	}) || got.Artifact.Log != want.Artifact.Log {
		f.errorf("get: a wrong binary")
	}
}

// put stores an entry, and is counted once whatever comes of it.
func (f *faulty) put(e *store.Entry) {
	f.t.Helper()
	before := f.counted.Snapshot()
	res, err := f.s.Put(bg, e)
	d := f.counted.Snapshot().Sub(before)
	done := d[stats.DiskPuts] + d[stats.DiskPutsBettered] + d[stats.DiskPutsExisting]
	not := d[stats.DiskPutFailures] + d[stats.DiskPutsDropped]
	switch {
	case err == nil && (done != 1 || not != 0 || res == store.Failed):
		f.errorf("put: result %d, counted %d done and %d not", res, done, not)
	case err != nil && (done != 0 || not != 1):
		f.errorf("put: %v, counted %d done and %d not", err, done, not)
	}
	if err == nil {
		f.stored[e.Key] = true
	}
}

func (f *faulty) lock(k key.Key) {
	if unlock, err := f.s.Lock(bg, k, 0); err == nil {
		if _, err := f.s.Lock(bg, k, 0); err == nil && len(f.plan.Hits()) == 0 {
			f.errorf("locked twice")
		}
		unlock()
	}
}

// play is the scenario: everything that a store does.
func (f *faulty) play() {
	f.t.Helper()
	s := f.s
	_ = s.Status()
	a, b, c := f.entry("a", false), f.entry("b", true), f.entry("c", true)
	f.get(a)
	f.lock(a.Key)
	f.put(a)
	f.get(a)
	f.put(a) // it is there
	better := f.entry("a", true)
	f.put(better)
	f.get(better)
	f.put(b)
	_, _ = s.Nearest(bg, f.entry("n", true).Recipe, key.Digest{})
	if s.AddStats(oneHit()) == nil {
		if sum, err := s.Stats(); err == nil && sum[stats.DiskHits] > 1 && !f.again {
			f.errorf("statistics of one hit: %d", sum[stats.DiskHits])
		}
	}
	f.damage(c)
	f.storedIsThere()
	for i := range 10 { // beyond the limit
		f.put(f.entry(fmt.Sprint("more", i), true))
		settled(s)
	}
	for _, e := range f.entries {
		f.get(e)
	}
	for info, err := range s.List(bg) {
		if err == nil && info.Bad == nil && f.entries[info.Key] == nil {
			f.errorf("list: an entry that was never put: %v", info)
		}
	}
	if rec, err := s.Recipe(bg, b.Key); err == nil && rec.Key() != b.Key {
		f.errorf("the recipe of another key")
	}
	_ = s.Delete(bg, b.Key)
	_, _ = s.Verify(bg, false, nil)
	_, _ = s.Verify(bg, true, nil)
	f.clock.add(2 * time.Hour)
	_, _ = s.GC(bg, GCOptions{MaxSize: 3 * each, MaxAge: 24 * time.Hour}, nil)
	f.get(a)
	_ = s.Status()
	_ = s.ResetStats()
	f.again = true
}

// damage puts an entry, damages its file and puts it anew.
func (f *faulty) damage(e *store.Entry) {
	f.t.Helper()
	f.put(e)
	settled(f.s) // else the evictor may remove the file meanwhile
	path := binPath(f.s, e.Key)
	if whole, err := os.ReadFile(path); err == nil {
		must(f.t, os.WriteFile(path, whole[:len(whole)-1], 0o600))
	}
	f.stored[e.Key], f.damaged = false, binPath(f.s, e.Key)
	f.get(e)
	f.put(e)
	f.get(e)
}

// storedIsThere: what a put said is stored hits, in another process too.
func (f *faulty) storedIsThere() {
	f.t.Helper()
	if f.again {
		return // some were evicted
	}
	s := f.clean()
	defer s.Close()
	for k, was := range f.stored {
		if !was {
			continue
		}
		if got, err := s.Get(bg, k); err != nil {
			f.errorf("stored, but: %v", err)
		} else {
			f.right(k, got)
		}
	}
}

// end closes the store and looks at what is left.
func (f *faulty) end() {
	f.t.Helper()
	s := f.clean()
	defer s.Close()
	r, err := s.Verify(bg, false, nil)
	if err != nil {
		f.errorf("verify: %v", err)
	}
	for _, p := range r.Problems {
		switch {
		case errors.Is(p.Err, errOrphan): // of a put or a removal that ended in the middle
		case filepath.Join(s.o.Dir, p.Location) == f.damaged: // not mended
		case (f.absence || f.random) && errors.Is(p.Err, fs.ErrNotExist):
			// A removal was told that the entry is gone; a repair, twice, that
			// the recipe is bad.
		default:
			f.errorf("verify: %v", p)
		}
	}
	for k := range f.entries {
		if got, err := s.Get(bg, k); err == nil {
			f.right(k, got)
		}
		unlock, err := s.Lock(bg, k, 0)
		if err != nil {
			f.errorf("lock: %v", err)
			continue
		}
		unlock()
	}
	f.clock.add(2 * time.Hour)
	_, err = s.GC(bg, GCOptions{}, nil)
	if err != nil {
		f.errorf("gc: %v", err)
	}
	st, tree := s.Status(), storetest.Look(f.t, s.o.Dir)
	if exists(s.o.Dir) && (st.Bytes != tree.Bytes || st.Entries != tree.Entries || !st.Counted) {
		f.errorf("account after gc: %+v, there are %+v", st, tree)
	}
	if len(tree.Strange) > 0 {
		f.errorf("left behind: %q", tree.Strange)
	}
	_, _ = f.s.Clear(bg, nil, nil)
	_ = f.s.Close()
	must(f.t, s.Close())
	if n := descriptors(f.t, s.o.Dir); n > 0 {
		f.errorf("%d descriptors are left", n)
	}
}

// mayHide reports whether a fault tells that a file is not there.
func mayHide(f faultfs.Fault) bool {
	return errors.Is(f.Err, syscall.ENOENT) || errors.Is(f.Err, syscall.ESTALE)
}

// ways are the options of package safefs under which everything must hold.
var ways = map[string]safefs.Options{"fast": {}, "slow": {NoOpenat2: true, NoTmpfile: true}}

// TestEveryFaultAtEveryCall: whichever call fails, and how, nothing that is
// wrong is handed out, nothing is left behind, and what was not stored or not
// found is counted with a reason. Its short form tries each call with a few of
// the faults, its long one, without the race detector, with all, every fifth for ever as well.
func TestEveryFaultAtEveryCall(t *testing.T) {
	t.Parallel()
	long := timing.IsLong() && !raceEnabled
	part := -1 // the third of the cases that the long form takes
	if long && !timing.IsWhole() {
		part = int(timing.Seed(t) % 3)
	}
	for way, o := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			f := newFaulty(t, "no fault", faultfs.New(), false, o)
			f.play()
			f.end()
			calls := f.plan.Calls()
			if f.counted.Snapshot()[stats.DiskEvictions] == 0 || len(calls) < 300 {
				t.Fatalf("the scenario is poor: %d calls", len(calls))
			}
			var all sync.WaitGroup
			turns := make(chan struct{}, 4)
			hit := make(map[string]bool)
			var mu sync.Mutex
			for i, op := range calls {
				kinds := slices.DeleteFunc(faultfs.Kinds(), func(k faultfs.Kind) bool {
					return k.Ops != nil && !slices.Contains(k.Ops, op)
				})
				for j, k := range kinds {
					for _, sticky := range []bool{false, true} {
						if sticky && i%5 != 0 || way == "slow" && (i+j)%3 != 0 || !long && (i+2*j)%97 != 0 || part >= 0 && (i/3+j)%3 != part {
							continue
						}
						turns <- struct{}{}
						all.Go(func() {
							defer func() { <-turns }()
							name := fmt.Sprintf("%s, call %d (%s) answers %s, sticky %v", way, i+1, op, k.Name, sticky)
							plan := faultfs.New(faultfs.Rule{Nth: i + 1, Sticky: sticky, Ops: stickyOps(k, sticky), Fault: k.Fault})
							start := time.Now()
							f := newFaulty(t, name, plan, mayHide(k.Fault), o)
							f.play()
							f.end()
							must(t, os.RemoveAll(f.s.o.Dir))
							if took := time.Since(start); took > 2*time.Minute {
								f.errorf("it took %v", took)
							}
							mu.Lock()
							defer mu.Unlock()
							for _, h := range plan.Hits() {
								hit[string(h.Op)+" "+h.Fault.String()] = true
							}
						})
					}
				}
			}
			all.Wait()
			t.Logf("%d calls, %d kinds of call and fault", len(calls), len(hit))
		})
	}
}

// stickyOps keeps a fault that stays to the calls that can meet it.
func stickyOps(k faultfs.Kind, sticky bool) []safefs.Op {
	if sticky {
		return k.Ops
	}
	return nil
}

// TestRandomFaults: calls fail at random, by a seed, through a longer life.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	seeds, first := 12, 0
	if timing.IsLong() && !raceEnabled {
		seeds = timing.Cases(12, 250, 1000)
		first = int(timing.Seed(t) % (1 << 30))
	}
	for seed := first; seed < first+seeds; seed++ {
		rnd := rand.New(rand.NewPCG(uint64(seed), 1))
		var rules []faultfs.Rule
		hide := false
		for _, k := range faultfs.Kinds() {
			if rnd.IntN(3) == 0 {
				rules = append(rules, faultfs.Rule{Ops: k.Ops, Chance: []float64{0.002, 0.02, 0.1}[rnd.IntN(3)], Fault: k.Fault})
				hide = hide || mayHide(k.Fault)
			}
		}
		o := ways[[]string{"fast", "slow"}[seed%2]]
		f := newFaulty(t, fmt.Sprint("seed ", seed), faultfs.Random(uint64(seed), rules...), hide, o)
		f.random = true
		for range 3 {
			f.play()
		}
		f.end()
	}
}
