package kernstash

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// Close waits for a build that everybody gave up, since the driver is still at
// it.
func TestCloseWaitsForAnAbandonedBuild(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		f.took = time.Minute
		x := fakeContextOn(c, f)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := x.Program(ctx, Request{Image: image(t, src(1))}); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Program: %v", err)
		}
		start := time.Now()
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d != 59*time.Second {
			t.Errorf("Close took %v, the build needed 59 s more", d)
		}
		if _, _, live, _ := f.counts(); live != 0 {
			t.Errorf("%d live programs", live)
		}
	})
}

// The time of Close is for captures and stores: a build in flight does not use
// it up.
func TestCloseTimeoutBeginsAfterBuilds(t *testing.T) {
	t.Parallel()
	root, r := newRoot(t), Request{Image: image(t, src(1))}
	bubbleOn(t, Options{Dir: root, CloseTimeout: time.Second}, func(t *testing.T, c *Cache) {
		f := newFake(t)
		f.took = time.Minute
		x := fakeContextOn(c, f)
		var all sync.WaitGroup
		all.Go(func() { use(t, x, r) })
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		all.Wait()
		f.wantBuilds(1)
	})
	f := newFake(t)
	run(t, root, f, nil, r)
	f.wantBuilds(0)
}

// Who closes a second time waits for the first: the runtime's context may go
// then.
func TestSecondCloseWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	f := deferring(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	f.capture = func([]string, bool) error { close(entered); <-leave; return nil }
	c := openCache(t, newRoot(t))
	x := fakeContextOn(c, f)
	launch(t, x, Request{Image: image(t, src(1))}, "k 8").Release()
	<-entered
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if err := x.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if _, _, live, _ := f.counts(); live != 0 {
				t.Errorf("%d live programs after Close", live)
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	close(leave)
	all.Wait()
}

// A release that is under way when Close comes is waited for.
func TestCloseWaitsForReleases(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		f.releasing = func() { time.Sleep(time.Second) }
		x := fakeContextOn(c, f)
		p, err := x.Program(t.Context(), Request{Image: image(t, src(1))})
		if err != nil {
			t.Fatal(err)
		}
		x.Clear()
		go p.Release()
		synctest.Wait()
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if _, _, live, _ := f.counts(); live != 0 {
			t.Errorf("%d live programs after Close", live)
		}
	})
}

// Counting while a driver makes a kernel and runs out of resources: a lock that
// both want must not be held by either for the other.
func TestLenWhileAKernelIsMade(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	x := fakeContextOn(openCache(t, ""), f)
	failed := false
	f.kernel = func(*fakeProgram, string) error {
		if failed {
			return nil
		}
		failed = true
		go x.Len()
		time.Sleep(50 * time.Millisecond)
		return ErrOutOfResources
	}
	k, err := x.Kernel(t.Context(), Request{Image: image(t, src(1))}, "k")
	if err != nil {
		t.Fatal(err)
	}
	k.Release()
}

// Two images of the same code may mean different things where the build reads
// files or the clock: each has its program to itself, however it is told.
func TestUncacheableOptionsAreNotShared(t *testing.T) {
	t.Parallel()
	for _, options := range []string{"-include x.h", "-DNOW=__TIME__"} {
		f := newFake(t)
		x := fakeContextOn(openCache(t, newRoot(t)), f)
		a, b := image(t, src(1)), image(t, src(1))
		for range 2 {
			use(t, x, Request{Image: a, CompileOptions: options})
			use(t, x, Request{Image: b, CompileOptions: options})
		}
		f.wantBuilds(2)
		use(t, x, Request{Image: a})
		use(t, x, Request{Image: b}) // cacheable: shared
		f.wantBuilds(3)
		q, err := x.Prepare(Request{Image: b, CompileOptions: options})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			p, err := q.Program(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p.Release()
		}
		f.wantBuilds(3)
	}
}

// A failure that depends on files is an image's own too.
func TestUncacheableFailuresAreNotShared(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	n := 0
	f.build = func(context.Context, Job) error {
		if n++; n == 1 {
			return &BuildError{Log: "the header was not there"}
		}
		return nil
	}
	x := fakeContextOn(openCache(t, newRoot(t)), f)
	a, b := image(t, "#include <a.h>"), image(t, "#include <a.h>")
	for range 2 {
		if _, err := x.Program(t.Context(), Request{Image: a}); !errors.As(err, new(*BuildError)) {
			t.Errorf("first image: %v", err)
		}
	}
	use(t, x, Request{Image: b})
	f.wantBuilds(2)
}

// The caller's constants are its own again when Program has returned, though
// the build that it asked for goes on for others.
func TestBuildHasItsOwnConstants(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		f.identifying = func() { time.Sleep(time.Second) }
		var built []byte
		f.build = func(_ context.Context, job Job) error {
			built = job.Recipe.Constants[0].Value
			return nil
		}
		x := fakeContextOn(c, f)
		img := image(t, src(1))
		constants := []key.SpecConstant{{ID: 1, Value: []byte("A")}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := x.Program(ctx, Request{Image: img, Constants: constants}); err == nil {
				t.Error("the leader was not cancelled")
			}
			constants[0].Value[0] = 'B'
		})
		synctest.Wait()
		all.Go(func() { use(t, x, Request{Image: img, Constants: []key.SpecConstant{{ID: 1, Value: []byte("A")}}}) })
		all.Wait()
		if string(built) != "A" {
			t.Errorf("built with %q", built)
		}
	})
}

// A load that ends with its caller says nothing about the artifact.
func TestCancelledLoadKeepsTheEntry(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	r := Request{Image: image(t, src(1))}
	run(t, root, newFake(t), nil, r)
	f := newFake(t)
	c := openCache(t, root)
	x := fakeContextOn(c, f)
	ctx, cancel := context.WithCancel(t.Context())
	f.loading = func(loading context.Context) error {
		cancel()
		<-loading.Done()
		return loading.Err()
	}
	if _, err := x.Program(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("Program: %v", err)
	}
	f.loading = nil
	if from := use(t, x, r); from != Disk { // which waits for the end of the first load
		t.Errorf("after a cancelled load: %v", from)
	}
	wantStats(t, c, map[stats.Counter]int64{stats.Of(reason.MissRefused): 0, stats.Corrupt: 0})
}

// A driver that is done after the build, and gives no binary, keeps nobody
// waiting for one.
func TestFinalDriverWithoutBinary(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.noBinary = true
	c := openCache(t, newRoot(t))
	use(t, fakeContextOn(c, f), Request{Image: image(t, src(1))})
	wantStats(t, c, map[stats.Counter]int64{stats.Of(reason.NotCacheableRuntime): 1, stats.CapturesDropped: 0})
}

// Two processes that each hold the lock of a program which was not launched,
// or was just launched, do not wait for each other.
func TestDeferringProcessesDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	a, b := Request{Image: image(t, src(1))}, Request{Image: image(t, src(2))}
	for _, launched := range []bool{false, true} {
		root := newRoot(t)
		process := func(t *testing.T, c *Cache, requests ...Request) time.Duration {
			f := deferring(t)
			f.took = time.Second
			x := fakeContextOn(c, f)
			start := time.Now()
			for _, r := range requests {
				p, err := x.Program(t.Context(), r)
				if err != nil {
					t.Error(err)
					return 0
				}
				if launched {
					p.Launched(0, "k 8")
				}
				p.Release()
			}
			return time.Since(start)
		}
		config := emptyConfig(t)
		synctest.Test(t, func(t *testing.T) {
			var all sync.WaitGroup
			for _, order := range [][]Request{{a, b}, {b, a}} {
				c, err := Open(Options{Dir: root, ConfigFile: config})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				all.Go(func() {
					// Waiting for each other would take 3 s or more.
					if d := process(t, c, order...); d > 2700*time.Millisecond {
						t.Errorf("launched %v: two builds of 1 s took %v", launched, d)
					}
				})
			}
			all.Wait()
		})
	}
}

func TestFlushWaitsForCaptures(t *testing.T) {
	t.Parallel()
	c := openCache(t, newRoot(t))
	launch(t, fakeContextOn(c, deferring(t)), Request{Image: image(t, src(1))}, "k 8").Release()
	if !c.Flush(3 * time.Minute) {
		t.Error("Flush gave up")
	}
	wantStats(t, c, map[stats.Counter]int64{stats.Captures: 1, stats.DiskPuts: 1})
}
