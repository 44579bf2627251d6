package inprocess

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// oneDevice is a host with one device. search, unless nil, is called when it is asked where
// header files are.
type oneDevice struct {
	cache.Process
	search func()
}

func (oneDevice) Devices() int { return 1 }

func (oneDevice) Identify(context.Context, int) (key.Device, error) {
	return key.Device{API: "test", Platform: "p", Name: "d"}, nil
}

func (oneDevice) Variables(int) ([]key.Pair, error) { return nil, nil }

func (h oneDevice) HeaderSearch(_ int, dir string, r engine.Request) (deps.Search, error) {
	if h.search != nil && r.Image != nil {
		h.search()
	}
	return deps.Search{Main: dir}, nil
}

func begin(t *testing.T, g *Instance, h oneDevice, source string) *Ticket {
	t.Helper()
	image, err := key.NewImage(key.OpenCLC, []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	s := g.Cache.Engine().Session(h, engine.SessionOptions{Share: true})
	m := g.FrontEnd("test").Ticket(s, engine.Request{Image: engine.NewImage(image)}, nil)
	m.Serve = serveNothing
	return m
}

func serveNothing(*store.Artifact) (front.Message, error) { return nil, nil }

func wantStep(t *testing.T, m *Ticket, want front.Action) {
	t.Helper()
	if step, ok := m.Wait(time.Minute); !ok || step.Action != want {
		t.Fatalf("%v, %t; want %v", step.Action, ok, want)
	}
}

func wantNothing(t *testing.T, m *Ticket) {
	t.Helper()
	if step, ok := m.Wait(time.Millisecond); ok {
		t.Fatalf("%v, want nothing yet", step.Action)
	}
}

// refused says that the compiler refused the program.
func (t *Ticket) refused() { t.compiled(Outcome{Result: front.Failed}) }

// built says that it was built.
func (t *Ticket) built(took time.Duration, made func(*key.Recipe) engine.Outcome) {
	t.compiled(Outcome{Result: front.Built, Took: took, Made: made})
}

const source = "kernel void k(global int *p) { *p = 1; }"

func made(*key.Recipe) engine.Outcome {
	return engine.Outcome{Artifact: &store.Artifact{Binaries: []store.Binary{{Form: store.FormFinal, Data: []byte("code")}}}}
}

func TestTicketBuildsAndRestores(t *testing.T) {
	t.Parallel()
	g := openInstance(t)
	m := begin(t, g, oneDevice{}, source)
	wantStep(t, m, front.Build)
	wantStep(t, m, front.Pass) // while it is being built
	other := begin(t, g, oneDevice{}, source)
	wantNothing(t, other)
	m.built(time.Second, made)
	wantStep(t, other, front.Hit)
	other.Restored()
	g.Quiesce()
	g.Cache.Flush(time.Minute)
	m = begin(t, g, oneDevice{}, source)
	wantStep(t, m, front.Hit)
	m.rejected(errors.New("no"))
	wantStep(t, m, front.Build)
	m.built(time.Second, made)
	m.Restored() // it is over
	m.End()
	g.Quiesce()
	g.Cache.Flush(time.Minute)
	m = begin(t, g, oneDevice{}, source)
	wantStep(t, m, front.Hit)
	m.Restored()
	wantStep(t, m, front.Pass)
	for c, want := range map[stats.Counter]int64{
		stats.MemoryMisses: 4, stats.MemoryWaits: 1, stats.DiskHits: 1, stats.Builds: 2, stats.Corrupt: 1, stats.DiskPuts: 2,
	} {
		if n := g.Cache.Stats()[c]; n != want {
			t.Errorf("%v: %d, want %d", c, n, want)
		}
	}
}

// What becomes of a build is what those who wait for it are told.
func TestTicketEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(m *Ticket)
		want front.Action
	}{
		"refused":       {func(m *Ticket) { m.refused() }, front.Pass},
		"ended":         {func(m *Ticket) { m.End() }, front.Build},
		"ended, built":  {func(m *Ticket) { m.End(); m.built(0, made) }, front.Build},
		"built, ended":  {func(m *Ticket) { m.built(0, made); m.End() }, front.Hit},
		"built, panics": {func(m *Ticket) { m.built(0, func(*key.Recipe) engine.Outcome { panic("no") }) }, front.Build},
		"for nobody": {func(m *Ticket) {
			m.built(0, func(*key.Recipe) engine.Outcome { return engine.Outcome{Unfit: "no"} })
		}, front.Build},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := openInstance(t)
			m, other := begin(t, g, oneDevice{}, source), (*Ticket)(nil)
			wantStep(t, m, front.Build)
			other = begin(t, g, oneDevice{}, source)
			wantNothing(t, other)
			c.end(m)
			wantStep(t, other, c.want)
			if (other.err == ErrRefused) != (c.want == front.Pass) {
				t.Error(other.err)
			}
			other.End()
			if _, ok := other.Current(); ok {
				t.Error("a step is being done after its end")
			}
		})
	}
}

// A file system that hangs holds a request for as long as its host has patience, and no
// call of End.
func TestTicketWhileFilesHang(t *testing.T) {
	t.Parallel()
	g := openInstance(t)
	hang := make(chan struct{})
	calls := make(chan struct{}, 4)
	h := oneDevice{search: func() {
		calls <- struct{}{}
		if len(calls) > 1 { // the second time: in a goroutine
			<-hang
		}
	}}
	const text = "#include \"a.h\"\n" + source
	var over chan struct{}
	image, err := key.NewImage(key.OpenCLC, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := g.Cache.Engine().Session(h, engine.SessionOptions{Share: true})
	m := g.FrontEnd("test").Ticket(s, engine.Request{Image: engine.NewImage(image)}, func() func() {
		over = make(chan struct{})
		return func() { close(over) }
	})
	wantNothing(t, m)
	m.mu.Lock()
	m.since = m.since.Add(-MaxWait)
	m.mu.Unlock()
	wantStep(t, m, front.Pass)
	wantStep(t, m, front.Pass)
	m.End()
	select {
	case <-over:
		t.Error("the search is over")
	default:
	}
	close(hang)
	<-over
	g.Quiesce()
	wantStep(t, m, front.Pass)
	if n := g.Cache.Stats().Get(stats.Of(reason.MissAbsent)); n != 0 {
		t.Errorf("%d misses", n)
	}
}

// Where the driver builds what nobody is told the end of, its front end knows before: the
// compiler may keep what the environment is by then.
func TestPassedIsToldBefore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end    func(first, second *Ticket)
		action front.Action
		passed int
	}{
		"late": {func(_, second *Ticket) {
			second.mu.Lock()
			defer second.mu.Unlock()
			second.since = second.since.Add(-MaxWait)
		}, front.Pass, 1},
		"refused": {func(first, _ *Ticket) { first.refused() }, front.Pass, 1},
		"built":   {func(first, _ *Ticket) { first.End() }, front.Build, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := openInstance(t)
			first, second, passed := begin(t, g, oneDevice{}, source), (*Ticket)(nil), 0
			wantStep(t, first, front.Build)
			second = begin(t, g, oneDevice{}, source)
			second.Passed = func() { passed++ }
			wantNothing(t, second)
			c.end(first, second)
			wantStep(t, second, c.action)
			if passed != c.passed {
				t.Errorf("passed %d times, want %d", passed, c.passed)
			}
			second.End()
			first.End()
			g.Quiesce()
		})
	}
}

func TestTicketAfterClose(t *testing.T) {
	t.Parallel()
	g := openInstance(t)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	m := begin(t, g, oneDevice{}, source)
	wantStep(t, m, front.Pass)
	if !errors.Is(m.err, errClosed) {
		t.Error(m.err)
	}
}

// deliversNothing is a host that panics when it is asked how a program's code comes.
type deliversNothing struct{ oneDevice }

func (deliversNothing) Delivery(engine.Job) engine.Delivery { panic("no") }

// A panic on the host's thread, which gets no ticket then, ends the request: the next one for
// the program waits for nobody.
func TestTicketAfterPanic(t *testing.T) {
	t.Parallel()
	g := openInstance(t)
	image, err := key.NewImage(key.OpenCLC, []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	s := g.Cache.Engine().Session(deliversNothing{}, engine.SessionOptions{Share: true})
	err = g.Guard(func() error {
		m := g.FrontEnd("test").Ticket(s, engine.Request{Image: engine.NewImage(image)}, nil)
		step, _ := m.Wait(time.Minute)
		t.Errorf("no panic: %v", step.Action)
		return nil
	})
	if !errors.Is(err, ErrPanic) {
		t.Fatal(err)
	}
	m := begin(t, g, oneDevice{}, source)
	wantStep(t, m, front.Build)
	m.End()

	// So does one of the front end, which makes a message of what is to be done.
	err = g.Guard(func() error {
		m := begin(t, g, oneDevice{}, source)
		m.All = func([]Part) front.Message { panic("no") }
		step, _ := m.Wait(time.Minute)
		t.Errorf("no panic: %v", step.Action)
		return nil
	})
	if !errors.Is(err, ErrPanic) {
		t.Fatal(err)
	}
	m = begin(t, g, oneDevice{}, source)
	wantStep(t, m, front.Build)
	m.End()
	g.Quiesce()
}
