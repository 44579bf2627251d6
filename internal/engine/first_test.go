package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/memory"
)

// finished is an artifact of machine code, and of PTX that ends with a text.
func finished(end string) *store.Artifact {
	a := artifact(k1)
	a.Binaries = append(a.Binaries, store.Binary{Form: store.FormIntermediate, Data: []byte(strings.Repeat("PTX ", 1<<16) + end)})
	return a
}

// stored stores what is built for a request.
func stored(t testing.TB, run *run, r Request, a *store.Artifact) {
	t.Helper()
	g := begin(t, run.session(newHost(t)), r).Group(0)
	wantStep(t, g, Build)
	g.Built(Outcome{Artifact: a, Took: time.Second})
	run.finish()
}

// A request says that the first binary is enough, and any other gets all. What is told of a hit is
// the same.
func TestFirstIsEnough(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	r := Request{Image: source(t, k1)}
	whole := finished("")
	stored(t, start(t, root, "on"), r, whole)
	for _, first := range []bool{true, false} {
		run := start(t, root, "on")
		r.First = first
		tx := begin(t, run.session(newHost(t)), r)
		for _, g := range []*Group{tx.Group(0), tx.Group(0).Renew()} {
			a := wantStep(t, g, Hit).Artifact
			if !bytes.Equal(a.Binaries[0].Data, whole.Binaries[0].Data) || (len(a.Binaries) == 1) != first || len(a.Binaries)+len(a.Rest) != 2 {
				t.Errorf("first %v: %d binaries, %d unread", first, len(a.Binaries), len(a.Rest))
			}
			g.Loaded(time.Millisecond)
		}
		read := run.counters.Snapshot()[stats.DiskBytesRead]
		if most := int64(2 * 2000); first && read > most || !first && read < 2*whole.Size() {
			t.Errorf("first %v: %d bytes are read", first, read)
		}
		run.wantDecision(0, func(d Decision) string {
			if d.Bytes != whole.Size() || len(d.Kernels) != 1 {
				return "want it of the whole artifact"
			}
			return ""
		})
	}
}

// A store that reads all at once is asked for all.
func TestFirstOfAPlainStore(t *testing.T) {
	t.Parallel()
	run := start(t, "", "on")
	m := memory.New(memory.Options{})
	run.Engine = New(Options{Settings: run.Engine.settings, Store: m, Recorder: run.counters})
	r := Request{Image: source(t, k1), First: true}
	stored(t, run, r, finished(""))
	run.Engine = New(Options{Settings: run.Engine.settings, Store: m, Recorder: run.counters})
	if a := wantStep(t, begin(t, run.session(newHost(t)), r).Group(0), Hit).Artifact; len(a.Binaries) != 2 || len(a.Rest) != 0 {
		t.Errorf("%d binaries, %d unread; want both", len(a.Binaries), len(a.Rest))
	}
}

// Comparing needs all of an entry, whoever asks.
func TestFirstIsObservedWhole(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	r := Request{Image: source(t, k1), First: true}
	stored(t, start(t, root, "on"), r, finished("one"))
	run := start(t, root, settings.ModeObserve)
	stored(t, run, r, finished("another"))
	run.want(map[stats.Counter]int64{stats.ObserveDifferent: 1, stats.ObserveEqual: 0})
}

// Who needs all of an entry that is damaged behind its first binary finds nothing. Where the
// store is written the entry goes, so that the next build is stored.
func TestDamageBehindTheFirst(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{settings.ModeReadOnly, "on"} {
		root := newRoot(t)
		r := Request{Image: source(t, k1), First: true}
		whole := finished("")
		stored(t, start(t, root, "on"), r, whole)
		paths, err := filepath.Glob(root + "/*/*/*/*/0.bin")
		if err != nil || len(paths) != 1 {
			t.Fatal(paths, err)
		}
		b, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)-1] ^= 1
		if err := os.WriteFile(paths[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
		run := start(t, root, mode)
		g := begin(t, run.session(newHost(t)), r).Group(0)
		wantStep(t, g, Hit)
		g.Loaded(time.Millisecond)
		if a := run.Artifact(t.Context(), g.Job().Key); a != nil {
			t.Errorf("%s: an artifact of a damaged entry", mode)
		}
		next := begin(t, run.session(newHost(t)), r).Group(0)
		if mode == settings.ModeReadOnly {
			wantStep(t, next, Hit)
			continue
		}
		if wantStep(t, next, Build); next.missed != reason.MissAbsent {
			t.Errorf("it missed for %v", next.missed)
		}
		next.Built(Outcome{Artifact: whole, Took: time.Second})
		run.finish()
		run.want(map[stats.Counter]int64{stats.Corrupt: 1, stats.DiskPuts: 1})
		again := start(t, root, mode)
		if a := again.Artifact(t.Context(), g.Job().Key); a == nil || a.Size() != whole.Size() {
			t.Errorf("it is not stored anew: %v", a)
		}
	}
}

// stash stores n programs whose code is read into a buffer, and returns requests for them, and the code.
func stash(t *testing.T, root string, n int) (requests []Request, code [][]byte) {
	t.Helper()
	for i := range n {
		text := fmt.Sprintf("kernel void k%d() {}", i)
		a := artifact(text)
		a.Binaries[0].Data = bytes.Repeat([]byte(text), 256<<10/len(text)+i)
		requests, code = append(requests, Request{Image: source(t, text), First: true}), append(code, a.Binaries[0].Data)
		stored(t, start(t, root, "on"), requests[i], a)
	}
	return requests, code
}

// What is read goes into the memory of what was released, and into no other.
func TestReleasedMemoryIsUsedAgain(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	requests, want := stash(t, root, 4)
	run := start(t, root, "on")
	ask := func(i int) (*Group, []byte) {
		g := begin(t, run.session(newHost(t)), requests[i]).Group(0)
		return g, wantStep(t, g, Hit).Artifact.Binaries[0].Data
	}
	intact := func(i int, code []byte) {
		t.Helper()
		if !bytes.Equal(code, want[i]) {
			t.Errorf("the code of %d is changed", i)
		}
	}
	// These are read for as long as somebody likes: one is not loaded, one refused, one not released.
	asked, code0 := ask(0)
	asked.Release()
	loaded, code1 := ask(1)
	loaded.Loaded(time.Millisecond)
	refused, code2 := ask(2)
	refused.Rejected(t.Context(), errors.New("no"))
	refused.Release()
	again := false
	for range 100 { // the race detector has a pool forget some
		g, code := ask(3)
		intact(3, code)
		g.Loaded(time.Millisecond)
		g.Release()
		g.Release()
		next, other := ask(3)
		third, yetOther := ask(3)
		again = again || &code[0] == &other[0]
		if &other[0] == &yetOther[0] {
			t.Fatal("two have one memory")
		}
		for _, g := range []*Group{next, third} {
			g.Loaded(time.Millisecond)
			g.Release()
		}
	}
	if !again {
		t.Error("memory is not used again")
	}
	intact(0, code0)
	intact(1, code1)
	intact(2, code2)
}

// However many load at once, each has the code that it asked for until it releases it.
func TestReleaseByMany(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	requests, want := stash(t, root, 8)
	s := start(t, root, "on").session(newHost(t))
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			for range 50 {
				tx, err := s.Begin(t.Context(), requests[i])
				if err != nil {
					t.Error(err)
					return
				}
				g := tx.Group(0)
				step := g.Next(t.Context())
				runtime.Gosched()
				if step.Kind != Hit || !bytes.Equal(step.Artifact.Binaries[0].Data, want[i]) {
					t.Errorf("%d: another's code, or none: %v", i, step.Kind)
					return
				}
				g.Loaded(time.Millisecond)
				g.Release()
			}
		})
	}
	all.Wait()
}
