package inprocess

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/engine"
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

func begin(t *testing.T, g *Guest, h oneDevice, source string) *Drive {
	t.Helper()
	image, err := key.NewImage(key.OpenCLC, []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	s := g.Cache.Engine().Session(h, engine.SessionOptions{Share: true})
	return g.Door("test").Drive(s, engine.Request{Image: engine.NewImage(image)}, nil)
}

func wantSaid(t *testing.T, m *Drive, want Said, kind engine.Kind) {
	t.Helper()
	if step, said := m.Wait(time.Minute); said != want || step.Kind != kind {
		t.Fatalf("%v, %v; want %v, %v", said, step.Kind, want, kind)
	}
}

const source = "kernel void k(global int *p) { *p = 1; }"

func made(*key.Recipe) engine.Outcome {
	return engine.Outcome{Artifact: &store.Artifact{Binaries: []store.Binary{{Form: store.FormFinal, Data: []byte("code")}}}}
}

func TestDriveBuildsAndRestores(t *testing.T) {
	t.Parallel()
	g := openGuest(t)
	m := begin(t, g, oneDevice{}, source)
	wantSaid(t, m, Wanted, engine.Build)
	wantSaid(t, m, Over, engine.Ended) // while it is being built
	other := begin(t, g, oneDevice{}, source)
	if _, said := other.Wait(time.Millisecond); said != Nothing {
		t.Fatalf("the other one: %v", said)
	}
	m.Built(time.Second, made)
	wantSaid(t, other, Wanted, engine.Hit)
	other.Restored()
	g.Settle()
	g.Cache.Flush(time.Minute)
	m = begin(t, g, oneDevice{}, source)
	wantSaid(t, m, Wanted, engine.Hit)
	m.Rejected(errors.New("no"))
	wantSaid(t, m, Wanted, engine.Build)
	m.Built(time.Second, made)
	m.Restored() // it is over
	m.End()
	g.Settle()
	g.Cache.Flush(time.Minute)
	m = begin(t, g, oneDevice{}, source)
	wantSaid(t, m, Wanted, engine.Hit)
	m.Restored()
	wantSaid(t, m, Over, engine.Ended)
	for c, want := range map[stats.Counter]int64{
		stats.MemoryMisses: 4, stats.MemoryWaits: 1, stats.DiskHits: 1, stats.Builds: 2, stats.Corrupt: 1, stats.DiskPuts: 2,
	} {
		if n := g.Cache.Stats()[c]; n != want {
			t.Errorf("%v: %d, want %d", c, n, want)
		}
	}
}

// What becomes of a build is what those who wait for it are told.
func TestDriveEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(m *Drive)
		said Said
		kind engine.Kind
	}{
		"refused":       {func(m *Drive) { m.Refused() }, Failed, engine.Bypass},
		"ended":         {func(m *Drive) { m.End() }, Wanted, engine.Build},
		"ended, built":  {func(m *Drive) { m.End(); m.Built(0, made) }, Wanted, engine.Build},
		"built, ended":  {func(m *Drive) { m.Built(0, made); m.End() }, Wanted, engine.Hit},
		"built, panics": {func(m *Drive) { m.Built(0, func(*key.Recipe) engine.Outcome { panic("no") }) }, Wanted, engine.Build},
		"for nobody": {func(m *Drive) {
			m.Built(0, func(*key.Recipe) engine.Outcome { return engine.Outcome{Unfit: "no"} })
		}, Wanted, engine.Build},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := openGuest(t)
			m, other := begin(t, g, oneDevice{}, source), (*Drive)(nil)
			wantSaid(t, m, Wanted, engine.Build)
			other = begin(t, g, oneDevice{}, source)
			if _, said := other.Wait(time.Millisecond); said != Nothing {
				t.Fatalf("the other one: %v", said)
			}
			c.end(m)
			wantSaid(t, other, c.said, c.kind)
			if err := other.Err(); (err == ErrRefused) != (c.said == Failed) {
				t.Error(err)
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
func TestDriveWhileFilesHang(t *testing.T) {
	t.Parallel()
	g := openGuest(t)
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
	m := g.Door("test").Drive(s, engine.Request{Image: engine.NewImage(image)}, func() func() {
		over = make(chan struct{})
		return func() { close(over) }
	})
	if _, said := m.Wait(time.Millisecond); said != Nothing {
		t.Fatalf("%v", said)
	}
	m.mu.Lock()
	m.since = m.since.Add(-Patience)
	m.mu.Unlock()
	wantSaid(t, m, Late, engine.Ended)
	wantSaid(t, m, Over, engine.Ended)
	m.End()
	select {
	case <-over:
		t.Error("the search is over")
	default:
	}
	close(hang)
	<-over
	g.Settle()
	wantSaid(t, m, Over, engine.Ended)
	if n := g.Cache.Stats().Get(stats.Of(reason.MissAbsent)); n != 0 {
		t.Errorf("%d misses", n)
	}
}

func TestDriveAfterClose(t *testing.T) {
	t.Parallel()
	g := openGuest(t)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	m := begin(t, g, oneDevice{}, source)
	if _, said := m.Wait(time.Minute); said != Failed || !errors.Is(m.Err(), errClosed) {
		t.Errorf("%v, %v", said, m.Err())
	}
}

// deliversNothing is a host that panics when it is asked how a program's code comes.
type deliversNothing struct{ oneDevice }

func (deliversNothing) Delivery(engine.Job) engine.Delivery { panic("no") }

// A panic on the host's thread, which gets no ticket then, ends the request: the next one for
// the program waits for nobody.
func TestDriveAfterPanic(t *testing.T) {
	t.Parallel()
	g := openGuest(t)
	image, err := key.NewImage(key.OpenCLC, []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	s := g.Cache.Engine().Session(deliversNothing{}, engine.SessionOptions{Share: true})
	err = g.Guard(func() error {
		m := g.Door("test").Drive(s, engine.Request{Image: engine.NewImage(image)}, nil)
		_, said := m.Wait(time.Minute)
		t.Errorf("no panic: %v", said)
		return nil
	})
	if !errors.Is(err, ErrPanic) {
		t.Fatal(err)
	}
	m := begin(t, g, oneDevice{}, source)
	if step, said := m.Wait(time.Millisecond); said != Wanted || step.Kind != engine.Build {
		t.Errorf("the next one: %v, %v", said, step.Kind)
	}
	m.End()
	g.Settle()
}
