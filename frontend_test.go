package kernstash

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// decisions takes what a context decides.
type decisions struct {
	mu  sync.Mutex
	all []engine.Decision
}

func (d *decisions) take(one engine.Decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, one)
}

// after returns the decisions once there are n.
func (d *decisions) after(t *testing.T, n int) []engine.Decision {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		d.mu.Lock()
		all := d.all
		d.mu.Unlock()
		if len(all) >= n {
			return all
		}
		if time.Since(begin) > 3*time.Minute {
			t.Fatalf("%d decisions, want %d", len(all), n)
		}
	}
}

// Whoever asks to be told is told what became of each program, once, with what
// the nearest entry differs in.
func TestDecisionsAreTold(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	f := newFake(t)
	var told decisions
	c := openCache(t, root, func(*Options) {})
	defer c.Close()
	x := NewContext[*fakeProgram, *fakeKernel](c, f, ContextOptions{decided: told.take})
	use(t, x, Request{Image: image(t, src(1)), CompileOptions: "-DN=1"})
	told.after(t, 1)
	c.Flush(3 * time.Minute)
	use(t, x, Request{Image: image(t, src(1)), CompileOptions: "-DN=2"})
	told.after(t, 2)
	x.Clear()
	use(t, x, Request{Image: image(t, src(1)), CompileOptions: "-DN=1"}) // from disk
	use(t, x, Request{Image: image(t, src(1)), CompileOptions: "-DN=1"}) // from memory: nothing to decide
	use(t, x, Request{Image: image(t, "kernel void k() { __TIME__; }")})
	f.build = func(context.Context, Job) error { return &BuildError{Code: -11, Log: "no"} }
	if _, err := x.Program(t.Context(), Request{Image: image(t, src(9))}); err == nil {
		t.Fatal("it was built")
	}
	all := told.after(t, 5)
	ignore := cmpopts.IgnoreFields(engine.Decision{}, "Recipe", "Spent", "Cost", "Saved", "Waited", "Ended", "Size", "Err")
	compile := func(options string) key.Key {
		r := key.Recipe{Device: f.devices[0], Image: image(t, src(1)).Image, Options: key.NewOptions(options, "")}
		return r.Key()
	}
	one := []int{0}
	kernels := []string{"k"}
	want := []engine.Decision{
		{Key: compile("-DN=1"), Devices: one, Origin: engine.Compiled, Reason: "miss.absent", Nearest: "nothing near it", Kernels: kernels},
		{Key: compile("-DN=2"), Devices: one, Origin: engine.Compiled, Reason: "miss.absent", Nearest: all[1].Nearest, Kernels: kernels},
		{Key: compile("-DN=1"), Devices: one, Origin: engine.Disk, Bytes: 100, Kernels: kernels},
		{Devices: one, Origin: engine.Compiled, Reason: all[3].Reason, Kernels: kernels},
		{Key: all[4].Key, Devices: one, Reason: "miss.absent"},
	}
	if diff := cmp.Diff(want, all, ignore, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	if !strings.Contains(all[1].Nearest, "-DN=") || !strings.Contains(all[3].Reason, "date or time") {
		t.Errorf("nearest %q, reason %q", all[1].Nearest, all[3].Reason)
	}
	var diagnostic *BuildError
	if !errors.As(all[4].Err, &diagnostic) {
		t.Errorf("the failure: %v", all[4].Err)
	}
}

// A build or a load that was given up says nothing: no failure, no bad entry, and
// who waited for it goes on.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	f := newFake(t)
	c := openCache(t, root, func(*Options) {})
	defer c.Close()
	x := fakeContextOn(c, f)
	giveUp := fmt.Errorf("by the caller: %w", ErrAbandoned)
	f.build = func(context.Context, Job) error { return giveUp }
	if _, err := x.Program(t.Context(), Request{Image: image(t, src(1))}); !errors.Is(err, ErrAbandoned) {
		t.Errorf("build: err = %v", err)
	}
	f.build = nil
	use(t, x, Request{Image: image(t, src(1))})
	c.Flush(3 * time.Minute)
	x.Clear()
	f.load = func(Job, *store.Artifact) error { return giveUp }
	if _, err := x.Program(t.Context(), Request{Image: image(t, src(1))}); !errors.Is(err, ErrAbandoned) {
		t.Errorf("load: err = %v", err)
	}
	f.load = nil
	use(t, x, Request{Image: image(t, src(1))})
	s := c.Stats()
	if s[stats.Builds] != 1 || s[stats.BuildFailures] != 0 || s[stats.DiskHits] != 1 || s[stats.Of(reason.MissRefused)] != 0 {
		t.Errorf("builds %d, failures %d, hits %d, refused %d; want 1, 0, 1, 0",
			s[stats.Builds], s[stats.BuildFailures], s[stats.DiskHits], s[stats.Of(reason.MissRefused)])
	}
}

// What a runtime finds unfit for others, once it is built, is the program all the same, is
// not stored, and everybody is told why.
func TestUnfit(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.build = func(context.Context, Job) error { return fmt.Errorf("build: %w", &UnfitError{"it is mine"}) }
	var told decisions
	c := openCache(t, newRoot(t))
	defer c.Close()
	x := NewContext[*fakeProgram, *fakeKernel](c, f, ContextOptions{decided: told.take})
	use(t, x, Request{Image: image(t, src(1))})
	if d := told.after(t, 1)[0]; d.Reason != "not cacheable: the runtime (it is mine)" || !d.Key.IsZero() || d.Origin != engine.Compiled || d.Err != nil {
		t.Errorf("decision %+v", d)
	}
	if !c.Flush(3 * time.Minute) {
		t.Error("something is still to be stored")
	}
	wantStats(t, c, map[stats.Counter]int64{
		stats.Builds: 1, stats.BuildFailures: 0, stats.Of(reason.NotCacheableRuntime): 1, stats.DiskPuts: 0, stats.DiskMisses: 1,
	})
}

// No options are other ones than empty ones, unless there are any.
func TestNoOptions(t *testing.T) {
	t.Parallel()
	c := openCache(t, newRoot(t), func(*Options) {})
	defer c.Close()
	x := fakeContextOn(c, newFake(t))
	keyOf := func(r Request) key.Key {
		r.Image = image(t, src(1))
		p, err := x.Program(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Release()
		return p.Key(0)
	}
	if keyOf(Request{}) == keyOf(Request{NoOptions: true}) {
		t.Error("no options are empty ones")
	}
	if keyOf(Request{CompileOptions: "-DX"}) != keyOf(Request{CompileOptions: "-DX", NoOptions: true}) {
		t.Error("options count as none")
	}
}

// A front end that cannot change the options takes none from the operator.
func TestOptionsAsGiven(t *testing.T) {
	t.Setenv("KERNSTASH_APPEND_COMPILE_OPTIONS", "-DAPPENDED")
	c := openCache(t, newRoot(t), func(*Options) {})
	defer c.Close()
	var seen []string
	for _, given := range []bool{true, false} {
		f := newFake(t)
		f.build = func(_ context.Context, job Job) error {
			seen = append(seen, job.Recipe.Options.CompileString())
			return nil
		}
		x := NewContext[*fakeProgram, *fakeKernel](c, f, ContextOptions{OptionsAsGiven: given})
		use(t, x, Request{Image: image(t, src(1)), CompileOptions: "-DX"})
	}
	if diff := cmp.Diff([]string{"-DX", "-DX -DAPPENDED"}, seen); diff != "" {
		t.Error(diff)
	}
}

// A setting that makes no sense stops no application that did not ask for the cache. A
// limit that is not known is not kept, so nothing is written.
func TestLenient(t *testing.T) {
	t.Setenv("KERNSTASH_MAX_SIZE", "huge")
	if _, err := Open(Options{Dir: newRoot(t)}); err == nil {
		t.Error("it is no error for others")
	}
	c, err := Open(Options{Dir: newRoot(t), Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	if !c.cache().Reads() || c.cache().Writes() {
		t.Errorf("reads %v, writes %v", c.cache().Reads(), c.cache().Writes())
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestRefreshedByTheWorker: in mode refresh the worker finds nothing in its place; what
// it has built then stays.
func TestRefreshedByTheWorker(t *testing.T) {
	t.Parallel()
	for mode, gone := range map[Mode]bool{ModeOn: false, ModeObserve: false, ModeRefresh: true} {
		c := openCache(t, filepath.Join(t.TempDir(), "root"), inMode(mode))
		image, err := key.NewImage(key.OpenCLC, []byte("kernel void k() {}"))
		if err != nil {
			t.Fatal(err)
		}
		r := &key.Recipe{Device: key.Device{API: "opencl", Platform: "p", Name: "d"}, Image: image}
		e := &store.Entry{Key: r.Key(), Recipe: r, Artifact: artifactOf(store.FormDeferred, "code", "k/1-1-1")}
		job := spool.Job{Kind: spool.Capture, Recipe: r, Variants: []string{"k/1-1-1"}}
		for _, want := range []bool{gone, false} {
			if _, err := c.cache().Store().Put(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if _, err := c.cache().AddJob(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			if _, err := c.cache().Store().Get(t.Context(), e.Key); errors.Is(err, store.ErrNotFound) != want || err != nil && !want {
				t.Errorf("%s: %v", mode, err)
			}
		}
	}
}
