package kernstash

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

func inMode(mode Mode) func(*Options) { return func(o *Options) { o.Mode = mode } }

// tree returns what is below a root, with contents and times of change.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var b []byte
		if info.Mode().IsRegular() {
			b, err = os.ReadFile(path)
		}
		all[path] = fmt.Sprintf("%v %v %x", info.Mode(), info.ModTime().UnixNano(), b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestModes: what each mode reads and writes, of a root with one of two programs.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode   string
		builds int
		want   map[stats.Counter]int64
		writes bool
	}{
		{"on", 1, map[stats.Counter]int64{stats.DiskHits: 1, stats.DiskMisses: 1, stats.DiskPuts: 1}, true},
		{"read-only", 1, map[stats.Counter]int64{
			stats.DiskHits: 1, stats.DiskMisses: 1, stats.Of(reason.MissAbsent): 1,
			stats.DiskPuts: 0, stats.DiskPutsDropped: 0, stats.DiskPutFailures: 0,
		}, false},
		{"refresh", 2, map[stats.Counter]int64{
			stats.DiskHits: 0, stats.DiskMisses: 2, stats.Of(reason.MissRefresh): 2, stats.DiskPuts: 2, stats.DiskBytesRead: 0,
		}, true},
		{"observe", 2, map[stats.Counter]int64{
			stats.DiskHits: 0, stats.DiskMisses: 1, stats.Of(reason.MissAbsent): 1, stats.DiskPuts: 1,
			stats.Of(reason.ObserveHits): 1, stats.ObserveEqual: 1, stats.ObserveDifferent: 0,
		}, true},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			root := newRoot(t)
			known, fresh := Request{Image: image(t, src(1))}, Request{Image: image(t, src(2))}
			run(t, root, newFake(t), nil, known)
			before := tree(t, root)
			f := newFake(t)
			// Each is asked for twice: the memory tier works in every mode.
			s := run(t, root, f, inMode(Mode(tt.mode)), known, fresh, known, fresh)
			f.wantBuilds(tt.builds)
			if s[stats.MemoryHits] != 2 {
				t.Errorf("%d memory hits, want 2", s[stats.MemoryHits])
			}
			for counter, n := range tt.want {
				if s[counter] != n {
					t.Errorf("%v: %d, want %d", counter, s[counter], n)
				}
			}
			diff := cmp.Diff(before, tree(t, root))
			if wrote := diff != ""; wrote != tt.writes {
				t.Errorf("it wrote: %v\n%s", wrote, diff)
			}
		})
	}
}

// TestRefreshReplaces: what a refresh has built is what the next process loads,
// and what it would not have loaded is gone.
func TestRefreshReplaces(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	r := Request{Image: image(t, src(1))}
	run(t, root, newFake(t), nil, r)

	longer := newFake(t)
	longer.size = 200
	run(t, root, longer, inMode("refresh"), r)

	var loaded int64
	f := newFake(t)
	f.load = func(_ Job, a *store.Artifact) error { loaded = a.Size(); return nil }
	run(t, root, f, nil, r)
	f.wantBuilds(0)
	if loaded != 200 || len(entries(t, root)) != 1 {
		t.Errorf("loaded %d bytes of %d entries, want 200 of 1", loaded, len(entries(t, root)))
	}
}

// TestObserveFindsDifferences: a build that makes other bytes is counted, and
// what is stored stays.
func TestObserveFindsDifferences(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	r := Request{Image: image(t, src(1))}
	run(t, root, newFake(t), nil, r)
	before := entries(t, root)

	longer := newFake(t)
	longer.size = 200
	s := run(t, root, longer, inMode("observe"), r)
	if s[stats.Of(reason.ObserveHits)] != 1 || s[stats.ObserveDifferent] != 1 || s[stats.ObserveEqual] != 0 || s[stats.DiskPuts] != 0 {
		t.Errorf("counted %v", s)
	}
	if after := entries(t, root); cmp.Diff(before, after) != "" {
		t.Errorf("entries %v, were %v", after, before)
	}
	f := newFake(t)
	f.load = func(_ Job, a *store.Artifact) error {
		if a.Size() != 100 {
			t.Errorf("loaded %d bytes", a.Size())
		}
		return nil
	}
	run(t, root, f, nil, r)
	f.wantBuilds(0)
}

// TestObserveOfADeferringDriver: what was captured is compared once, if both are
// ready for the same launches; more launches later change nothing on disk.
func TestObserveOfADeferringDriver(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	r := Request{Image: image(t, src(1))}
	c := openCache(t, root)
	launch(t, fakeContextOn(c, deferring(t)), r, "k 8").Release()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		launches []string
		equal    int64
	}{{[]string{"k 8"}, 1}, {[]string{"k 4", "k 8"}, 0}} {
		f := deferring(t)
		c := openCache(t, root, inMode("observe"))
		p := launch(t, fakeContextOn(c, f), r, tt.launches...)
		waitFor(t, "a capture", func() bool { return len(f.captured()) == 1 })
		p.Launched(0, "k 16")
		p.Release()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		f.wantBuilds(1)
		wantStats(t, c, map[stats.Counter]int64{
			stats.Of(reason.ObserveHits): 1, stats.ObserveEqual: tt.equal, stats.ObserveDifferent: 0,
			stats.Captures: 2, stats.DiskPuts: 0, stats.DiskPutsBettered: 0,
		})
	}
}

// TestModesAndHeaders: lists of header files are read and written as entries are.
func TestModesAndHeaders(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]struct {
		scans, checks int64
		writes        bool
	}{"on": {0, 1, true}, "read-only": {0, 1, false}, "refresh": {1, 0, true}, "observe": {0, 1, true}} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			root, dir := newRoot(t), t.TempDir()
			header := filepath.Join(dir, "a.h")
			if err := os.WriteFile(header, []byte("#define A 1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			long := time.Now().Add(-time.Hour) // older than a clock's grain
			if err := os.Chtimes(header, long, long); err != nil {
				t.Fatal(err)
			}
			searching := func() *fakeRuntime {
				f := newFake(t)
				f.search = []*deps.Search{{}}
				return f
			}
			request := func() Request {
				return Request{Image: image(t, "#include \"a.h\"\nkernel void k() {}\n"), CompileOptions: "-I" + dir}
			}
			run(t, root, searching(), nil, request())
			before := tree(t, root)
			s := run(t, root, searching(), inMode(Mode(mode)), request())
			if s[stats.HeadersScanned] != want.scans || s[stats.HeadersChecked] != want.checks {
				t.Errorf("%d scans, %d checks, want %+v", s[stats.HeadersScanned], s[stats.HeadersChecked], want)
			}
			if wrote := cmp.Diff(before, tree(t, root)) != ""; wrote != want.writes {
				t.Errorf("it wrote: %v", wrote)
			}
		})
	}
}
