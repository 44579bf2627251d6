package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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
