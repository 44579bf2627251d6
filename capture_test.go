package kernstash

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/stats"
)

// deferring returns a fake of a driver that makes code at launches.
func deferring(t *testing.T) *fakeRuntime {
	f := newFake(t)
	f.deferred = true
	return f
}

func launch(t *testing.T, x *fakeContext, r Request, variants ...string) *fakeHandle {
	t.Helper()
	p, err := x.Program(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range variants {
		p.Launched(0, v)
	}
	return p
}

// waitFor polls for what happens in the background.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// The artifact of a deferring driver is taken after a launch, when the
// application pauses, and bettered when a restored program is launched anew.
func TestCaptureAfterLaunch(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	img := image(t, src(1))
	r := Request{Image: img}

	first := deferring(t)
	c := openCache(t, root)
	x := fakeContextOn(c, first)
	launch(t, x, r, "k 8", "k 4", "k 8").Release()
	waitFor(t, "the capture", func() bool { return c.Stats()[stats.DiskPuts] == 1 })
	if diff := cmp.Diff([][]string{{"k 4", "k 8"}}, first.captures); diff != "" {
		t.Errorf("captures (-want +got):\n%s", diff)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}

	second := deferring(t)
	var again []bool
	second.capture = func(_ []string, a bool) error { again = append(again, a); return nil }
	c = openCache(t, root)
	x = fakeContextOn(c, second)
	p := launch(t, x, r, "k 8") // known
	if p.Origin() != Disk {
		t.Errorf("second process: %v", p.Origin())
	}
	p.Launched(0, "k 16")
	p.Release()
	if err := c.Close(); err != nil { // takes what is pending
		t.Error(err)
	}
	if diff := cmp.Diff([][]string{{"k 16", "k 4", "k 8"}}, second.captures); diff != "" {
		t.Errorf("captures of the restored program (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]bool{true}, again); diff != "" {
		t.Errorf("again: %s", diff)
	}
	wantStats(t, c, map[stats.Counter]int64{stats.DiskPutsBettered: 1, stats.Captures: 1, stats.Builds: 0})

	third := deferring(t)
	c = openCache(t, root)
	launch(t, fakeContextOn(c, third), r, "k 4", "k 8", "k 16").Release()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if len(third.captures) != 0 || len(third.builds) != 0 {
		t.Errorf("third process: captures %v, builds %v", third.captures, third.builds)
	}
}

func TestCaptureDropped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		launched bool
		capture  func([]string, bool) error
	}{
		{"never launched", false, nil},
		{"refused", true, func([]string, bool) error { return errors.New("no") }},
		{"not cacheable", true, func([]string, bool) error { return ErrNotCacheable }},
		{"panic", true, func([]string, bool) error { panic("driver") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := deferring(t)
			f.capture = tt.capture
			c := openCache(t, newRoot(t))
			x := fakeContextOn(c, f)
			r := Request{Image: image(t, src(1))}
			p, err := x.Program(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if tt.launched {
				p.Launched(0, "k 8")
			}
			p.Release()
			if err := c.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			wantStats(t, c, map[stats.Counter]int64{stats.CapturesDropped: 1, stats.DiskPuts: 0})
			if _, _, live, _ := f.counts(); live != 0 {
				t.Errorf("%d live programs", live)
			}
			// The lock is free: another process is not kept waiting.
			second := newFake(t)
			c = openCache(t, c.cache().Settings().Dir)
			use(t, fakeContextOn(c, second), r)
			wantStats(t, c, map[stats.Counter]int64{stats.Builds: 1, stats.DiskWaits: 0})
		})
	}
}

// Close waits for a capture under way at most the stated time, says what it
// dropped, and never calls the driver afterwards.
func TestCloseDoesNotWaitForever(t *testing.T) {
	t.Parallel()
	o := Options{Dir: newRoot(t), CloseTimeout: 50 * time.Millisecond}
	bubbleOn(t, o, func(t *testing.T, c *Cache) {
		f := deferring(t)
		entered, leave := make(chan struct{}), make(chan struct{})
		f.capture = func([]string, bool) error { close(entered); <-leave; return nil }
		x := fakeContextOn(c, f)
		launch(t, x, Request{Image: image(t, src(1))}, "k 8").Release()
		<-entered
		launch(t, x, Request{Image: image(t, src(2))}, "k 8").Release()
		start := time.Now()
		err := c.Close()
		if d := time.Since(start); d != o.CloseTimeout {
			t.Errorf("Close took %v", d)
		}
		var dropped *DroppedError
		if !errors.As(err, &dropped) || len(dropped.Captures) != 2 {
			t.Fatalf("Close: %v, want two captures dropped", err)
		}
		if _, _, live, _ := f.counts(); live != 1 {
			t.Errorf("%d live programs, want the one that the driver is busy with", live)
		}
		close(leave)
		synctest.Wait()
		if _, _, live, _ := f.counts(); live != 1 {
			t.Error("a program was released after Close")
		}
	})
}

// The caller's launches go on while nothing is captured: a capture waits until
// they pause and no build is under way.
func TestCaptureWaitsForAPause(t *testing.T) {
	t.Parallel()
	root, config := newRoot(t), emptyConfig(t)
	synctest.Test(t, func(t *testing.T) {
		f := deferring(t)
		c, err := Open(Options{Dir: root, ConfigFile: config})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		x := fakeContextOn(c, f)
		p := launch(t, x, Request{Image: image(t, src(1))}, "v0")
		defer p.Release()
		quiet := c.cache().Settings().CaptureQuiet
		for i := range 20 {
			time.Sleep(quiet - time.Millisecond)
			p.Launched(0, string(rune('a'+i)))
		}
		f.took = 10 * quiet
		r := Request{Image: image(t, src(2))}
		go func() { use(t, x, r) }()
		time.Sleep(9 * quiet)
		synctest.Wait()
		if n := len(f.captured()); n != 0 {
			t.Fatalf("captured while launches and builds went on")
		}
		time.Sleep(3 * quiet)
		synctest.Wait()
		if got := f.captured(); len(got) != 1 || len(got[0]) != 21 {
			t.Errorf("captured %v, want 21 variants at once", got)
		}
	})
}

// While launches are under way the driver is not asked; the capture comes after
// a later pause, or at Close.
func TestCaptureOfABusyProgram(t *testing.T) {
	t.Parallel()
	for _, closing := range []bool{false, true} {
		t.Run(fmt.Sprintf("closing=%v", closing), func(t *testing.T) {
			t.Parallel()
			f := deferring(t)
			tries := make(chan int, 100)
			n := 0
			f.capture = func([]string, bool) error {
				if n++; n <= 3 {
					tries <- n
					return fmt.Errorf("capture: %w", ErrBusy)
				}
				return nil
			}
			c := openCache(t, newRoot(t))
			x := fakeContextOn(c, f)
			p := launch(t, x, Request{Image: image(t, src(1))}, "k 8")
			<-tries
			p.Launched(0, "k 16")
			p.Release()
			if !closing {
				waitFor(t, "the capture", func() bool { return c.Stats()[stats.DiskPuts] == 1 })
			}
			if err := c.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			wantStats(t, c, map[stats.Counter]int64{stats.Captures: 1, stats.CapturesDropped: 0, stats.DiskPuts: 1})
			if _, _, live, _ := f.counts(); live != 0 {
				t.Errorf("%d live programs", live)
			}
		})
	}
}
