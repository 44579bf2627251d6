//go:build linux

package kernstash

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/storetest"
)

const metaPrograms = 30

// meta is one run of the metamorphic test: workers, and a model of what they
// may and must find on disk.
type meta struct {
	t       *testing.T
	seed    uint64
	rnd     *rand.Rand
	root    string
	done    []string // what was done so far
	workers []*metaPlayer
	limit   int64 // of all workers, if it never changed
	limited bool  // somebody may evict: nothing must be there

	may, must, layered map[int]bool
	paths              map[int]string
}

// metaPlayer is a worker and what the model knows of it.
type metaPlayer struct {
	do   func(metaDo) metaDone
	end  func()
	o    metaConfig
	seen map[int]bool // may be answered from memory
	off  bool         // its disk tier found the root untrusted
}

func (m *meta) errorf(format string, args ...any) {
	m.t.Helper()
	last := append(slices.Clone(m.done[:len(m.workers)]), m.done[max(len(m.workers), len(m.done)-20):]...)
	m.t.Errorf("TEST_SEED=%d, step %d: %s\nlast steps: %q", m.seed, len(m.done), fmt.Sprintf(format, args...), last)
}

func (m *meta) note(format string, args ...any) {
	m.done = append(m.done, fmt.Sprintf(format, args...))
}

// asks reports whether a worker asks its stores for a program.
func (p *metaPlayer) asks(i int) bool {
	prog := metaProgramAt(i)
	least, _ := strconv.Atoi(p.o.Flags["min-device-image-size"])
	return !p.o.NoDisk && !prog.Unstored && len(prog.Source) >= least
}

// stores reports whether a worker stores what it builds of a program.
func (p *metaPlayer) stores(i int) bool {
	return p.asks(i) && !p.off && !metaProgramAt(i).Fails && p.o.Flags["min-build-time"] == ""
}

func (m *meta) open(p *metaPlayer) {
	m.t.Helper()
	if done := p.do(metaDo{Open: &p.o}); done.Err != "" {
		m.errorf("open: %s", done.Err)
	}
	p.seen, p.off = make(map[int]bool), false
}

// shut closes a worker and adds its counters up.
func (m *meta) shut(p *metaPlayer) {
	m.t.Helper()
	done := p.do(metaDo{Close: true})
	if done.Err != "" {
		m.errorf("close: %s", done.Err)
	}
	s := done.Stats
	sum := func(from, to reason.Reason) (n int64) {
		for r := from; r <= to; r++ {
			n += s[stats.Of(r)]
		}
		return n
	}
	if reasons := sum(reason.MissAbsent, reason.MissRefused); reasons != s[stats.DiskMisses] || s[stats.Builds] != done.Builds {
		m.errorf("%d misses with %d reasons, %d builds counted %d", s[stats.DiskMisses], reasons, done.Builds, s[stats.Builds])
	}
	ends := s[stats.DiskPuts] + s[stats.DiskPutsBettered] + s[stats.DiskPutsExisting] + s[stats.DiskPutsDropped] +
		s[stats.DiskPutFailures] + s[stats.CapturesDropped]
	// What is not cacheable may have failed to build as well.
	built, not := done.Builds-s[stats.BuildFailures], sum(reason.NotCacheableHeaders, reason.NotCacheableRuntime)
	if !p.o.NoDisk && (ends > built || ends+not < built) {
		m.errorf("%d programs built, %d not cacheable, %d ends are counted: %v", built, not, ends, s)
	}
}

// check compares what came of requests with the model, of which must was true
// before.
func (m *meta) check(p *metaPlayer, programs []int, done metaDone, must map[int]bool) {
	m.t.Helper()
	if done.Err != "" || len(done.Results) != len(programs) {
		m.errorf("worker: %s", done.Err)
		return
	}
	for j, i := range programs {
		r := done.Results[j]
		fromLayer := m.layered[i] && len(p.o.Layers) > 0 && p.asks(i)
		switch {
		case r.Wrong != "":
			m.errorf("program %d: %s", i, r.Wrong)
		case r.Failed || p.seen[i]:
		case r.Disk && (!p.asks(i) || !m.may[i] && !fromLayer):
			m.errorf("program %d hits, but it was never stored, or is gone", i)
		case !r.Disk && (must[i] && p.asks(i) && !p.off || fromLayer):
			m.errorf("program %d was built again: it was stored and nothing removed it", i)
		}
		if r.Path != "" {
			m.paths[i] = r.Path
		}
		if !r.Disk && !p.seen[i] && p.stores(i) && !m.limited {
			m.must[i] = true
		}
		if !p.o.NoMemory {
			p.seen[i] = true
		}
	}
}

// request lets workers ask for programs at once.
func (m *meta) request(players []*metaPlayer) {
	m.t.Helper()
	must := maps.Clone(m.must)
	asked, answers := make([][]int, len(players)), make([]metaDone, len(players))
	for j, p := range players {
		for range 1 + m.rnd.IntN(4) {
			i := m.rnd.IntN(metaPrograms)
			asked[j] = append(asked[j], i)
			if p.stores(i) {
				m.may[i] = true
			}
		}
	}
	which := []int{}
	for _, p := range players {
		which = append(which, slices.Index(m.workers, p))
	}
	m.note("request %v of workers %v", asked, which)
	var all sync.WaitGroup
	for j, p := range players {
		all.Go(func() { answers[j] = p.do(metaDo{Programs: asked[j]}) })
	}
	all.Wait()
	for j, p := range players {
		m.check(p, asked[j], answers[j], must)
	}
}

// clean is a store of the root as a person's command opens it.
func (m *meta) clean(f func(s *disk.Store)) {
	s := disk.New(disk.Options{Dir: m.root, Now: func() time.Time { return time.Now().Add(2 * time.Hour) }})
	defer s.Close()
	f(s)
}

// files does something to the .bin files, or others, of a program that may be
// there.
func (m *meta) files(suffix string, change func(path string) error) (i int, found bool) {
	known := slices.Sorted(maps.Keys(m.paths))
	if len(known) == 0 {
		return 0, false
	}
	i = known[m.rnd.IntN(len(known))]
	list, err := filepath.Glob(filepath.Join(m.root, m.paths[i], "*"+suffix))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, path := range list {
		if err := change(path); err != nil && !os.IsNotExist(err) {
			m.errorf("change %s: %v", path, err)
		}
	}
	return i, len(list) > 0
}

// spoil returns a change of one byte. It only ever adds a little: a bit flipped twice
// would make the file whole again, behind the model's back.
func (m *meta) spoil(at func(n int) int) func(path string) error {
	return func(path string) error {
		b, err := os.ReadFile(path)
		if err != nil || len(b) == 0 {
			return err
		}
		b[at(len(b))] += byte(1 + m.rnd.IntN(8))
		return os.WriteFile(path, b, 0o600)
	}
}

func (m *meta) forget(i int) {
	delete(m.may, i)
	delete(m.must, i)
}

func (m *meta) forgetAll() {
	clear(m.may)
	clear(m.must)
}

// step does one random thing.
func (m *meta) step() {
	m.t.Helper()
	p := m.workers[m.rnd.IntN(len(m.workers))]
	switch n := m.rnd.IntN(100); {
	case n < 45:
		m.request([]*metaPlayer{p})
	case n < 60:
		m.request(m.workers)
	case n < 70:
		m.note("restart")
		m.shut(p)
		m.open(p)
	case n < 74:
		if i, found := m.files(".bin", os.Remove); found {
			m.note("remove %d", i)
			m.forget(i)
		}
	case n < 79:
		if i, found := m.files(".bin", m.spoil(m.rnd.IntN)); found {
			m.note("damage %d", i)
			m.forget(i)
		}
	case n < 81:
		if i, found := m.files(".src", m.spoil(func(n int) int { return 16 + m.rnd.IntN(n-16) })); found {
			m.note("damage the recipe of %d", i)
		}
	case n < 84:
		if i, found := m.files(".bin", m.spoil(func(int) int { return 9 })); found { // a version that is not ours
			m.note("another version of %d", i)
			m.forget(i)
		}
	case n < 88:
		name := []string{".meta/account", ".meta/stats", ".meta/locks", "VERSION", "CACHEDIR.TAG", ".meta/records/current.1"}[m.rnd.IntN(6)]
		m.note("remove %s", name)
		_ = os.Remove(filepath.Join(m.root, name)) // it may not be there
	case n < 90:
		m.note("gc")
		m.clean(func(s *disk.Store) { _, _ = s.GC(context.Background(), disk.GCOptions{}, nil) })
	case n < 92:
		m.note("gc to a size")
		clear(m.must)
		m.clean(func(s *disk.Store) { _, _ = s.GC(context.Background(), disk.GCOptions{MaxSize: 100_000}, nil) })
	case n < 94:
		m.note("verify")
		m.clean(func(s *disk.Store) { _, _ = s.Verify(context.Background(), true, nil) })
	case n < 95:
		m.note("clear")
		m.clean(func(s *disk.Store) { _, _ = s.Clear(context.Background(), nil, nil) })
		m.forgetAll()
	case n < 96:
		m.note("remove the root")
		err := os.RemoveAll(m.root)
		for errors.Is(err, syscall.ENOTEMPTY) { // an evictor has put something there meanwhile
			err = os.RemoveAll(m.root)
		}
		if err != nil {
			m.errorf("%v", err)
		}
		m.forgetAll()
	case n < 98:
		m.changeLimit(p)
	default:
		m.untrusted(p)
	}
}

func (m *meta) changeLimit(p *metaPlayer) {
	m.t.Helper()
	m.shut(p)
	p.o.MaxSize = []int64{-1, 200_000, 1 << 20}[m.rnd.IntN(3)]
	m.note("limit %d", p.o.MaxSize)
	m.limit = 0
	m.limited = slices.ContainsFunc(m.workers, func(p *metaPlayer) bool { return p.o.MaxSize > 0 })
	if m.limited {
		clear(m.must)
	}
	m.open(p)
}

// untrusted lets a worker start on a root that others may enter: its disk tier
// is off, and all is built.
func (m *meta) untrusted(p *metaPlayer) {
	m.t.Helper()
	if os.Chmod(m.root, 0o755) != nil {
		return // there is none
	}
	m.note("chmod")
	m.shut(p)
	m.open(p)
	p.off = true
	m.request([]*metaPlayer{p})
	m.shut(p)
	if err := os.Chmod(m.root, 0o700); err != nil {
		m.errorf("%v", err)
	}
	m.open(p)
}

// start sets the run up by its seed.
func startMetamorphic(t *testing.T, seed uint64, processes []*metaProcess) *meta {
	t.Helper()
	dir, err := os.MkdirTemp(quickDir(), "kernstash-meta-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m := &meta{
		t: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 3)), root: filepath.Join(dir, "up", "root"),
		may: make(map[int]bool), must: make(map[int]bool), layered: make(map[int]bool), paths: make(map[int]string),
	}
	config := emptyConfig(t)
	pick := func(n int) bool { return m.rnd.IntN(n) == 0 }
	deferred := pick(4)
	if pick(3) {
		m.limit = 250_000
		m.limited = true
	}
	var layers []string
	if pick(3) && !deferred {
		layers = []string{filepath.Join(dir, "layer")}
		m.makeLayer(layers[0], config)
	}
	for j := range len(processes) + 2 {
		o := metaConfig{
			Root: m.root, ConfigFile: config, Layers: layers, MaxSize: -1, Eviction: []Eviction{EvictLRU, EvictCost}[m.rnd.IntN(2)],
			NoDisk: pick(8), NoMemory: pick(2), Slow: pick(3), NoLocks: pick(5), Deferred: deferred,
			Flags: map[string]string{"capture-quiet": "1ms"},
		}
		if m.limited {
			o.MaxSize = m.limit
		}
		if pick(3) {
			o.MemoryPrograms = 3
		}
		if pick(6) {
			o.Flags["min-build-time"] = "1h"
		}
		if pick(6) {
			o.Flags["min-device-image-size"] = "1000"
		}
		p := &metaPlayer{o: o, end: func() {}}
		if j < len(processes) {
			p.do = processes[j].do
		} else {
			p.do = new(metaWorker).do
		}
		m.note("worker %+v", o)
		m.workers = append(m.workers, p)
		m.open(p)
	}
	return m
}

// makeLayer builds a third of the programs into a root that is then read only.
func (m *meta) makeLayer(dir, config string) {
	m.t.Helper()
	p := &metaPlayer{do: new(metaWorker).do, o: metaConfig{Root: dir, ConfigFile: config, MaxSize: -1}}
	m.open(p)
	var programs []int
	for i := range metaPrograms / 3 {
		programs = append(programs, i)
	}
	for j, r := range p.do(metaDo{Programs: programs}).Results {
		if r.Wrong != "" {
			m.errorf("layer: %s", r.Wrong)
		}
		m.layered[programs[j]] = p.stores(programs[j])
	}
	m.shut(p)
}

// end closes all workers and looks at the root.
func (m *meta) end() {
	m.t.Helper()
	for _, p := range m.workers {
		m.shut(p)
	}
	if tree := storetest.Look(m.t, m.root); m.limit > 0 && tree.Bytes > m.limit+int64(len(m.workers))*6*4096 {
		m.errorf("%d bytes are there, the limit is %d", tree.Bytes, m.limit)
	}
	m.clean(func(s *disk.Store) {
		if _, err := s.Verify(context.Background(), true, nil); err != nil {
			m.errorf("verify: %v", err)
		}
		if _, err := s.GC(context.Background(), disk.GCOptions{}, nil); err != nil {
			m.errorf("gc: %v", err)
		}
		r, err := s.Verify(context.Background(), false, nil)
		if err != nil || r.Damaged > 0 {
			m.errorf("verify after a repair: %+v, %v", r, err)
		}
		st, tree := s.Status(), storetest.Look(m.t, m.root)
		if st.Exists && r.OtherVersions == 0 && (!st.Counted || st.Entries != tree.Entries || st.Bytes != tree.Bytes) {
			m.errorf("after gc: %+v; there are %+v", st, tree)
		}
		if len(tree.Strange) > 0 {
			m.errorf("left behind: %q", tree.Strange)
		}
	})
	p := &metaPlayer{do: new(metaWorker).do, o: metaConfig{Root: m.root, ConfigFile: emptyConfig(m.t), MaxSize: -1, Deferred: m.workers[0].o.Deferred}}
	m.open(p)
	all := slices.Sorted(maps.Keys(m.must))
	m.check(p, all, p.do(metaDo{Programs: all}), m.must)
	m.shut(p)
	if open := openBelow(m.t, m.root); len(open) > 0 {
		m.errorf("open still: %q", open)
	}
}

// TestMetamorphic does random things with random configurations in several
// processes, and compares with a model: what each program is, what may hit and
// what must, that the counters add up and the limit holds. A failure names its
// seed; with TEST_SEED the long form begins with that one.
func TestMetamorphic(t *testing.T) {
	t.Parallel()
	seeds, steps := 12, 60
	if long() {
		seeds, steps = 300, 150
	}
	processes := []*metaProcess{startMeta(t), startMeta(t)}
	t.Cleanup(func() {
		for _, p := range processes {
			p.end.Close()
			_ = p.cmd.Wait() // its input has ended
		}
	})
	from := uint64(1)
	if timing.IsLong() {
		from = timing.Seed(t)
	}
	for i := range uint64(seeds) {
		m := startMetamorphic(t, from+i, processes)
		for range steps {
			if m.step(); t.Failed() {
				break
			}
		}
		m.end()
		if t.Failed() {
			return
		}
	}
}
