package kernstash

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// TestArtifactsInTheProcess: with the disk tier off, what one context of a cache has built
// others of it load, in the modes that store. Nothing is written, and nobody is told
// that there is a disk tier.
func TestArtifactsInTheProcess(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*Options)
		builds int
		counts map[stats.Counter]int64
	}{
		"on": {func(*Options) {}, 1, map[stats.Counter]int64{
			stats.DiskHits: 1, stats.DiskPuts: 1, stats.DiskMisses: 1, stats.Of(reason.MissAbsent): 1,
		}},
		"refresh":   {inMode("refresh"), 2, map[stats.Counter]int64{stats.DiskHits: 0, stats.DiskPuts: 2}},
		"observe":   {inMode("observe"), 2, map[stats.Counter]int64{stats.DiskHits: 0, stats.DiskPuts: 1, stats.ObserveEqual: 1}},
		"read-only": {inMode("read-only"), 2, map[stats.Counter]int64{stats.DiskPuts: 0, stats.Of(reason.MissTierOff): 2}},
		"no memory tier": {func(o *Options) { o.NoMemory = true }, 2, map[stats.Counter]int64{
			stats.DiskPuts: 0, stats.Of(reason.MissTierOff): 2,
		}},
		"disabled": {func(o *Options) { o.Flags = map[string]string{"disable": "1"} }, 2, map[stats.Counter]int64{stats.DiskPuts: 0}},
		"cheap": {func(o *Options) { o.MinBuildTime = time.Hour }, 2, map[stats.Counter]int64{
			stats.DiskPuts: 0, stats.Of(reason.NotCacheableCheap): 2,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := newRoot(t)
			c := openCache(t, root, func(o *Options) { o.NoDisk = true; tt.change(o) })
			f := newFake(t)
			r := Request{Image: image(t, src(1))}
			for i := range 2 {
				x := fakeContextOn(c, f)
				if got, want := use(t, x, r), []Origin{Compiled, Disk}[i]; tt.builds == 1 && got != want {
					t.Errorf("context %d: %v, want %v", i, got, want)
				}
				if !c.Flush(time.Minute) {
					t.Fatal("not stored in time")
				}
			}
			f.wantBuilds(tt.builds)
			wantStats(t, c, tt.counts)
			if c.cache().Reads() || c.cache().Writes() {
				t.Errorf("reads %v, writes %v", c.cache().Reads(), c.cache().Writes())
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Dir(root)); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(root); !os.IsNotExist(err) {
				t.Errorf("the root was made: %v", err)
			}
		})
	}
}

// TestLargeArtifactsInTheProcess: what is larger than the limit is not kept.
func TestLargeArtifactsInTheProcess(t *testing.T) {
	t.Parallel()
	c := openCache(t, "", func(o *Options) { o.Mode = "" })
	f := newFake(t)
	f.size = 64 << 20 // the limit
	for range 2 {
		use(t, fakeContextOn(c, f), Request{Image: image(t, src(1))})
		if !c.Flush(time.Minute) {
			t.Fatal("not stored in time")
		}
	}
	f.wantBuilds(2)
	wantStats(t, c, map[stats.Counter]int64{stats.DiskPutFailures: 2, stats.DiskHits: 0})
}

// TestNothingIsCapturedForTheProcess: code that a driver makes at the first launch is not
// captured where nobody else could load it: neither do launches wait for that, nor Close.
func TestNothingIsCapturedForTheProcess(t *testing.T) {
	t.Parallel()
	c := openCache(t, "", func(o *Options) { o.Mode, o.Flags = "", map[string]string{"capture-quiet": "1ms"} })
	f := newFake(t)
	f.deferred = true
	p, err := fakeContextOn(c, f).Program(t.Context(), Request{Image: image(t, src(1))})
	if err != nil {
		t.Fatal(err)
	}
	p.Launched(0, "k 8")
	if !c.Flush(time.Minute) {
		t.Error("something is still to be stored")
	}
	p.Launched(0, "k 16")
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.captures) > 0 {
		t.Errorf("captured %q", f.captures)
	}
}
