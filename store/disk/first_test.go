//go:build linux

package disk

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/faultfs"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// twoForms returns an entry of machine code of a size, and of PTX of twice the size.
func twoForms(t testing.TB, seed string, size int) *store.Entry {
	e := storetest.New(t, seed, size)
	e.Artifact.Binaries = append(e.Artifact.Binaries, store.Binary{Form: store.FormIntermediate, Data: storetest.Code("PTX", 2*size)})
	return e
}

// firstOf checks that an artifact has the first binary of an entry, and tells of the second.
func firstOf(t testing.TB, got, want *store.Entry) {
	t.Helper()
	a, b := got.Artifact, want.Artifact.Binaries
	if len(a.Binaries) != 1 || a.Binaries[0].Form != b[0].Form || string(a.Binaries[0].Data) != string(b[0].Data) ||
		!slices.Equal(a.Rest, []store.Unread{{Form: b[1].Form, Size: int64(len(b[1].Data))}}) {
		t.Errorf("%d binaries, %v unread; want the first, and form and size of the second", len(a.Binaries), a.Rest)
	}
}

// TestBytesOfAFirst: of a large entry no more than header and first binary is read, as the
// calls of the system say. The statistics say what was used.
func TestBytesOfAFirst(t *testing.T) {
	t.Parallel()
	var reads atomic.Int64
	var counts stats.Counters
	hook := &safefs.Hook{Before: func(op safefs.Op, size int) (int, error) {
		if op == safefs.OpPread {
			reads.Add(int64(size))
		}
		return size, nil
	}}
	dir := t.TempDir()
	s := New(Options{Dir: dir + "/root", Recorder: &counts}.WithFiles(safefs.Options{Hook: hook}))
	defer s.Close()
	for _, size := range []int{10_000, 50_000, 300_000, 1_500_000} {
		e := twoForms(t, fmt.Sprint(size), size)
		put(t, s, e, store.Stored)
		info, err := os.Stat(binPath(s, e.Key))
		must(t, err)
		const header = 1000 // at most
		reads.Store(0)
		counted := counts.Snapshot().Get(stats.DiskBytesRead)
		got, err := s.GetFirst(bg, e.Key, new(store.Buffer))
		must(t, err)
		counted = counts.Snapshot().Get(stats.DiskBytesRead) - counted
		want, tolerance := info.Size(), int64(0)
		if 3*size > 128<<10 {
			firstOf(t, got, e)
			want, tolerance = int64(size), 4096+header
		} else if len(got.Artifact.Rest) > 0 {
			t.Errorf("%d: %v unread of a small entry", size, got.Artifact.Rest)
		}
		if n := reads.Load(); n < want || n > want+tolerance {
			t.Errorf("%d: %d bytes are read, want %d to %d", size, n, want, want+tolerance)
		}
		if counted < want || counted > want+min(tolerance, header) {
			t.Errorf("%d: %d bytes are counted, want %d", size, counted, want)
		}
	}
}

// TestDamageBehindTheFirst: what is read is checked, by either. What is damaged behind it harms
// nobody who does not need it, and whoever does misses; a put replaces the entry.
func TestDamageBehindTheFirst(t *testing.T) {
	t.Parallel()
	const size = 100_000
	hits := reason.Reason(255)
	for name, c := range map[string]struct {
		damage      func(t *testing.T, path string)
		first, both reason.Reason
	}{
		"nothing":                 {func(*testing.T, string) {}, hits, hits},
		"the last byte":           {flip(-1), hits, reason.MissDigest},
		"the second's first byte": {flip(-2 * size), hits, reason.MissDigest},
		"the first's last byte":   {flip(-2*size - 1), reason.MissDigest, reason.MissDigest},
		"the first's first byte":  {flip(-3 * size), reason.MissDigest, reason.MissDigest},
		"the log":                 {flip(-3*size - 1), reason.MissDigest, reason.MissDigest},
		"the second's digest":     {flip(256 + 56 + 16), reason.MissDigest, reason.MissDigest},
		"the key":                 {flip(20), reason.MissDigest, reason.MissDigest},
		"cut in the second":       {func(t *testing.T, p string) { must(t, os.Truncate(p, 2*size)) }, reason.MissTruncated, reason.MissTruncated},
		"longer":                  {func(t *testing.T, p string) { must(t, os.Truncate(p, 4*size)) }, reason.MissTruncated, reason.MissTruncated},
		"sparse and huge":         {func(t *testing.T, p string) { must(t, os.Truncate(p, 3<<30)) }, reason.MissTruncated, reason.MissTruncated},
		"another key's entry":     {nil, reason.MissCollision, reason.MissCollision},
		"not there":               {func(t *testing.T, p string) { must(t, os.Remove(p)) }, reason.MissAbsent, reason.MissAbsent},
		"group may write":         {func(t *testing.T, p string) { must(t, os.Chmod(p, 0o620)) }, reason.MissIrregular, reason.MissIrregular},
		"a hole in the second":    {hole(size, 2*size), hits, reason.MissDigest},
		"a hole in the first":     {hole(0, size), reason.MissDigest, reason.MissDigest},
		"another version":         {flip(8), reason.MissVersion, reason.MissVersion},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			e, other := twoForms(t, "e", size), twoForms(t, "other", size)
			put(t, s, e, store.Stored)
			if c.damage == nil {
				put(t, s, other, store.Stored)
				b, err := os.ReadFile(binPath(s, other.Key))
				must(t, err)
				must(t, os.WriteFile(binPath(s, e.Key), b, 0o600))
			} else {
				c.damage(t, binPath(s, e.Key))
			}
			got, err := s.GetFirst(bg, e.Key, new(store.Buffer))
			if missed := new(store.MissError); c.first == hits {
				must(t, err)
				firstOf(t, got, e)
			} else if !errors.As(err, &missed) || missed.Reason != c.first || got != nil {
				t.Errorf("get the first: %v, %v; want a miss for %v", got, err, c.first)
			}
			if c.both == hits {
				wantHit(t, s, e)
				put(t, s, e, store.Existing)
				return
			}
			wantMiss(t, s, e.Key, c.both)
			want := store.Bettered
			if c.both == reason.MissAbsent || c.both == reason.MissCollision || c.both == reason.MissVersion {
				want = store.Stored
			}
			put(t, s, e, want)
			got, err = s.GetFirst(bg, e.Key, new(store.Buffer))
			must(t, err)
			firstOf(t, got, e)
			wantHit(t, s, e)
		})
	}
}

// hole makes a part of the code zeros, as a file system may after a crash. from and to count
// from the first binary's first byte, of three times 100,000.
func hole(from, to int64) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		b, err := os.ReadFile(path)
		must(t, err)
		code := b[len(b)-300_000:]
		clear(code[from:to])
		must(t, os.WriteFile(path, b, 0o600))
	}
}

// TestEveryFaultOfAFirst: whichever call fails, and how, a first binary is right, or missed.
func TestEveryFaultOfAFirst(t *testing.T) {
	t.Parallel()
	clean := open(t)
	e := twoForms(t, "e", 100_000)
	put(t, clean, e, store.Stored)
	get := func(plan *faultfs.Plan) (*store.Entry, error) {
		o := clean.o
		o.hooks = hooks{}
		o = o.WithFiles(safefs.Options{Hook: plan.Hook()})
		o.hooks.OffFor = time.Nanosecond
		s := New(o)
		defer s.Close()
		return s.GetFirst(bg, e.Key, new(store.Buffer))
	}
	plan := faultfs.New()
	_, err := get(plan)
	must(t, err)
	missed := 0
	for i, op := range plan.Calls() {
		for _, k := range faultfs.Kinds() {
			if k.Ops != nil && !slices.Contains(k.Ops, op) {
				continue
			}
			got, err := get(faultfs.New(faultfs.Rule{Nth: i + 1, Fault: k.Fault}))
			switch {
			case err == nil:
				firstOf(t, got, e)
			case !errors.As(err, new(*store.MissError)) || got != nil:
				t.Errorf("call %d (%s) answers %s: %v, %v; want a miss", i+1, op, k.Name, got, err)
			default:
				missed++
			}
		}
	}
	if missed < 10 {
		t.Errorf("only %d of the faults made it miss", missed)
	}
	wantClean(t, clean)
}
