package kernstash

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// recorded returns the records of a root, and removes them.
func recorded(t *testing.T, root string) (all []records.Line) {
	t.Helper()
	d := disk.New(disk.Options{Dir: root})
	defer d.Close()
	err := d.TakeRecords(t.Context(), func(_ string, b []byte) error {
		records.Parse(b, func(l records.Line) { all = append(all, l) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRecords: what a process misses, and how often it hits, is recorded when it ends; hits in memory are not. Who builds
// ahead, and who may not write, records nothing.
func TestRecords(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	f := newFake(t)
	f.build = func(_ context.Context, job Job) error {
		if strings.Contains(string(job.Recipe.Image.Units()[0].Code), "k9(") {
			return &BuildError{Code: -11, Log: "secret"}
		}
		return nil
	}
	life := func(set func(*Options)) []records.Line {
		c := openCache(t, root, set)
		x := NewContext[*fakeProgram, *fakeKernel](c, f, ContextOptions{})
		one, two := Request{Image: image(t, src(1)), CompileOptions: "-DN=1"}, Request{Image: image(t, src(1)), CompileOptions: "-DN=2"}
		use(t, x, one)
		use(t, x, one)
		c.Flush(time.Minute)
		use(t, x, two)
		x.Clear()
		use(t, x, one)
		_, _ = x.Program(t.Context(), Request{Image: image(t, src(9))})
		_ = c.Close()
		return recorded(t, root)
	}
	entry := func(options string) records.Entry {
		r := Request{Image: image(t, src(1)), CompileOptions: options}
		c := openCache(t, root, func(o *Options) { o.Mode = "read-only" })
		defer c.Close()
		x := NewContext[*fakeProgram, *fakeKernel](c, f, ContextOptions{})
		p, err := x.Program(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Release()
		return records.EntryOf(p.Key(0))
	}
	if all := life(func(o *Options) { o.Ahead = true }); len(all) > 0 {
		t.Errorf("ahead: %+v", all)
	}
	if all := life(func(o *Options) { o.Mode = "read-only" }); len(all) > 0 {
		t.Errorf("read-only: %+v", all)
	}
	if all := life(func(o *Options) { o.Flags = map[string]string{"records": "0"} }); len(all) > 0 {
		t.Errorf("off: %+v", all)
	}
	d := disk.New(disk.Options{Dir: root})
	if _, err := d.Clear(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	d.Close()
	all := life(func(*Options) {})
	device, app := f.devices[0], "kernstash.test"
	miss := records.Line{Kind: records.Miss, App: app, Label: "k", Device: device.String(), API: device.API, Reason: "miss.absent"}
	first, second, failed := miss, miss, miss
	first.Entry, first.Nearest = entry("-DN=1"), "nothing near it"
	second.Entry, second.Nearest = entry("-DN=2"), `option "-DN=2" was "-DN=1"`
	failed.Label, failed.Reason = "19 bytes", "the compiler refused it"
	hit := records.Line{Kind: records.Hits, App: app, Entry: entry("-DN=1"), Hits: 1, Label: "k"}
	if len(all) != 4 {
		t.Fatalf("%+v", all)
	}
	for _, l := range all {
		if l.Reason == failed.Reason {
			failed.Entry = l.Entry
		}
	}
	order := cmpopts.SortSlices(func(a, b records.Line) bool { return a.Nearest+a.Reason < b.Nearest+b.Reason })
	if diff := cmp.Diff([]records.Line{first, second, failed, hit}, all, order, cmpopts.IgnoreFields(records.Line{}, "At", "Since", "Saved", "Cost")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRecordsOfLookups: what is looked up, built by who asked and stored, as the C library does it, is recorded, too.
func TestRecordsOfLookups(t *testing.T) {
	t.Parallel()
	root, f := newRoot(t), newFake(t)
	c := openCache(t, root)
	x := NewContext[*fakeProgram, *fakeKernel](c, f, ContextOptions{})
	a := artifactOf(store.FormFinal, "code")
	a.Kernels = []store.Kernel{{Name: "name"}}
	one, two := Request{Image: image(t, src(1)), CompileOptions: "-DN=1"}, Request{Image: image(t, src(1)), CompileOptions: "-DN=2"}
	for _, r := range []Request{one, one, one, two} {
		if _, err := storedFor(x, r, 0); err == nil {
			continue
		}
		if _, err := storeFor(x, r, 0, a); err != nil {
			t.Fatal(err)
		}
	}
	x.Close()
	_ = c.Close()
	device := f.devices[0]
	first := records.Line{
		Kind: records.Miss, App: "kernstash.test", Label: "name", Device: device.String(), API: device.API, Cost: time.Second,
		Reason: "miss.absent", Nearest: "nothing near it",
	}
	second := first
	second.Nearest = `option "-DN=2" was "-DN=1"`
	want := []records.Line{{Kind: records.Hits, App: "kernstash.test", Hits: 2, Label: "name"}, first, second}
	order := cmpopts.SortSlices(func(a, b records.Line) bool { return a.Nearest < b.Nearest })
	if diff := cmp.Diff(want, recorded(t, root), order, cmpopts.IgnoreFields(records.Line{}, "At", "Since", "Entry", "Saved")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// orderly is a store that notes in which order a cache has it keep totals and records.
type orderly struct {
	*disk.Store
	order []string
}

func (s *orderly) AddStats(delta stats.Snapshot) error {
	s.order = append(s.order, "totals")
	return s.Store.AddStats(delta)
}

func (s *orderly) AppendRecords(lines []byte) error {
	s.order = append(s.order, "records")
	return s.Store.AppendRecords(lines)
}

// TestTotalsComeFirst: a process that ends while it keeps what it counted may lose records, and not what they are a part of.
func TestTotalsComeFirst(t *testing.T) {
	t.Parallel()
	var s *orderly
	c, err := openOn(func(o disk.Options) cache.Disk { s = &orderly{Store: disk.New(o)}; return s }, Options{Dir: newRoot(t), ConfigFile: emptyConfig(t)})
	if err != nil {
		t.Fatal(err)
	}
	x := NewContext[*fakeProgram, *fakeKernel](c, newFake(t), ContextOptions{})
	use(t, x, Request{Image: image(t, src(1))})
	c.Flush(time.Minute)
	(*cache.Cache)(c).KeepStats()
	x.Close()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if want := []string{"totals", "records"}; len(s.order) < 2 || !slices.Equal(s.order[:2], want) {
		t.Errorf("%q, want %q first", s.order, want)
	}
}

// TestRecordsCost counts what records add: to a miss a handful of system calls when they are written, and
// some hundred bytes; to a hit none, until they are written once for all hits.
func TestRecordsCost(t *testing.T) {
	t.Parallel()
	var calls, written atomic.Int64
	hook := &safefs.Hook{Before: func(op safefs.Op, size int) (int, error) {
		calls.Add(1)
		if op == safefs.OpPwrite {
			written.Add(int64(size))
		}
		return size, nil
	}}
	const programs = 50
	type cost struct{ hits, hitsEnd, misses, missBytes int64 }
	life := func(set string) (n cost) {
		root, f := newRoot(t), newFake(t)
		open := func() (*Cache, *fakeContext) {
			c, err := openOn(func(o disk.Options) cache.Disk { return disk.New(o.WithFiles(safefs.Options{Hook: hook})) }, Options{
				Dir: root, ConfigFile: emptyConfig(t), Flags: map[string]string{"records": set},
			})
			if err != nil {
				t.Fatal(err)
			}
			return c, fakeContextOn(c, f)
		}
		ask := func(x *fakeContext, from int) {
			for i := from; i < programs; i++ {
				use(t, x, Request{Image: image(t, src(i))})
			}
		}
		c, x := open()
		calls.Store(0)
		written.Store(0)
		ask(x, 0)
		c.Close()
		n.misses, n.missBytes = calls.Load(), written.Load()
		c, x = open()
		use(t, x, Request{Image: image(t, src(0))}) // which opens the root; a use within a millisecond is not noted again
		x.Clear()
		calls.Store(0)
		ask(x, 1)
		n.hits = calls.Load()
		c.Close()
		n.hitsEnd = calls.Load() - n.hits
		return n
	}
	off, on := life("0"), life("1")
	t.Logf("without %+v, with %+v", off, on)
	if on.hits != off.hits {
		t.Errorf("hits make %d system calls, without records %d", on.hits, off.hits)
	}
	if more := on.hitsEnd - off.hitsEnd; more <= 0 || more > 20 {
		t.Errorf("in the end %d more", more)
	}
	if more := on.misses - off.misses; more <= 0 || more > 20+programs/2 { // what is looked for meanwhile differs a little
		t.Errorf("misses make %d more", more)
	}
	if more := (on.missBytes - off.missBytes) / programs; more <= 0 || more > 4096 {
		t.Errorf("a miss takes %d bytes", more)
	}
}

// TestAheadIsNoUse: to find what is there ahead of time is no hit, saves no time, and changes no order of eviction; a build is
// one.
func TestAheadIsNoUse(t *testing.T) {
	t.Parallel()
	root, f := newRoot(t), newFake(t)
	life := func(ahead bool, n int) {
		c := openCache(t, root, func(o *Options) { o.Ahead = ahead })
		x := NewContext[*fakeProgram, *fakeKernel](c, f, ContextOptions{})
		for range 2 {
			use(t, x, Request{Image: image(t, src(n))})
		}
		c.Close()
	}
	look := func() (s stats.Snapshot, used map[string]time.Time) {
		d := disk.New(disk.Options{Dir: root, KeepAccess: true})
		defer d.Close()
		s, err := d.Stats()
		if err != nil {
			t.Fatal(err)
		}
		used = make(map[string]time.Time)
		for info, err := range d.List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			used[info.Location] = info.Accessed
		}
		return s, used
	}
	life(false, 1)
	before, used := look()
	time.Sleep(5 * time.Millisecond) // a use is noted where the last one is a millisecond old
	life(true, 1)
	after, now := look()
	for _, c := range []stats.Counter{stats.MemoryHits, stats.DiskHits, stats.SavedTime, stats.LoadTime} {
		if after[c] != before[c] {
			t.Errorf("counter %d was %d, is %d", c, before[c], after[c])
		}
	}
	if diff := cmp.Diff(used, now); diff != "" {
		t.Errorf("used (-before +after):\n%s", diff)
	}
	life(true, 2)
	if built, _ := look(); built[stats.Builds] != 2 {
		t.Errorf("%d builds", built[stats.Builds])
	}
	life(false, 1)
	if after, now := look(); after[stats.DiskHits] != before[stats.DiskHits]+1 || cmp.Diff(used, now) == "" {
		t.Error("an application's hit is none")
	}
}
