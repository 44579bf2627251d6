package inprocess

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/key"
)

// TestTimesOfRequests: it is told how long requests waited for others, be it in vain, and when what was built was built.
func TestTimesOfRequests(t *testing.T) {
	t.Parallel()
	g := openInstance(t)
	path := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	g.log = runlog.At(path)
	decided := g.FrontEnd("test").Decided

	first := beginTold(t, g, decided)
	wantStep(t, first, front.Build)
	second, third := beginTold(t, g, decided), beginTold(t, g, decided)
	wantNothing(t, second)
	wantNothing(t, third)
	third.mu.Lock()
	third.since = third.since.Add(-MaxWait)
	third.mu.Unlock()
	wantStep(t, third, front.Pass)

	before, looks, looked := time.Now(), make(chan struct{}), make(chan struct{})
	go first.built(time.Hour, func(r *key.Recipe) engine.Outcome { // what follows the build takes long
		close(looks)
		<-looked
		return made(r)
	})
	<-looks
	after := time.Now()
	close(looked)
	wantStep(t, second, front.Hit)
	second.Restored()
	g.Quiesce()

	told := make(map[runlog.Outcome]runlog.Span)
	for begun := time.Now(); len(told) < 3 && time.Since(begun) < time.Minute; time.Sleep(time.Millisecond) { // a miss is told with its nearest entry
		told = tolds(t, path)
	}
	if got := told[runlog.Passed]; got.Waited < MaxWait {
		t.Errorf("passed: %+v", got)
	}
	if got := told[runlog.Memory]; got.Waited <= 0 || got.Waited > MaxWait {
		t.Errorf("found: %+v", got)
	}
	if got := told[runlog.Compiled]; got.Waited != 0 || got.Ended.Before(before.Round(0)) || got.Ended.After(after) {
		t.Errorf("compiled: %+v, want an end between %v and %v", got, before, after)
	}
}

// tolds returns what was told, by how it ended.
func tolds(t *testing.T, path string) map[runlog.Outcome]runlog.Span {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := runlog.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	told := make(map[runlog.Outcome]runlog.Span)
	for _, span := range s.Timeline {
		told[span.Outcome] = span
	}
	return told
}

// beginTold begins a request of which is told what becomes of it.
func beginTold(t *testing.T, g *Instance, decided func(engine.Decision)) *Ticket {
	t.Helper()
	image, err := key.NewImage(key.OpenCLC, []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	s := g.Cache.Engine().Session(oneDevice{}, engine.SessionOptions{Share: true, Decided: decided})
	m := g.FrontEnd("test").Ticket(s, engine.Request{Image: engine.NewImage(image)}, nil)
	m.Serve = serveNothing
	return m
}
