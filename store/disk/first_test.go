//go:build linux

package disk

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// withRest returns an entry of three binaries of a size each.
func withRest(t *testing.T, seed string, size int) *store.Entry {
	e := storetest.New(t, seed, size)
	e.Artifact.Binaries = append(e.Artifact.Binaries,
		store.Binary{Form: store.FormIntermediate, Data: bytes.Repeat([]byte("x"), size)},
		store.Binary{Form: store.FormDeferred, Data: bytes.Repeat([]byte("y"), size)})
	return e
}

// asBytes compares binaries as they are: byte by byte, as go-cmp does, a megabyte takes a
// quarter of a minute under the race detector.
var asBytes = cmp.Comparer(bytes.Equal)

// Binaries behind the first are left unread where they are large, and can be had later.
func TestGetFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ size, unread int }{{10_000, 0}, {restLeast, 2}, {atOnce, 2}} {
		var counts stats.Counters
		s := open(t, func(o *Options) { o.Recorder = &counts })
		e := withRest(t, "e", c.size)
		put(t, s, e, store.Stored)
		got, err := s.GetFirst(bg, e.Key)
		must(t, err)
		a := got.Artifact
		if d := cmp.Diff(e.Artifact.Binaries[:3-c.unread], a.Binaries, asBytes); d != "" || len(a.Rest) != c.unread || got.Key != e.Key {
			t.Fatalf("%d: %d left unread, read (-want +got):\n%s", c.size, len(a.Rest), d)
		}
		if d := cmp.Diff(e.Artifact.Kernels, a.Kernels); d != "" || a.Log != e.Artifact.Log {
			t.Errorf("%d: the rest of the artifact differs: %s", c.size, d)
		}
		if n := counts.Snapshot().Get(stats.DiskBytesRead); c.unread > 0 && n > int64(c.size)+4096 {
			t.Errorf("%d: %d bytes read", c.size, n)
		}
		if c.unread == 0 {
			continue
		}
		rest, err := s.GetRest(bg, e.Key, a)
		must(t, err)
		if d := cmp.Diff(e.Artifact.Binaries[1:], rest, asBytes); d != "" {
			t.Errorf("%d: the rest (-want +got):\n%s", c.size, d)
		}
		if r, err := s.Put(bg, got); r != store.Failed || !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%d: stored without its rest: %v, %v", c.size, r, err)
		}
	}
}

// What of an entry is read is checked; what is damaged behind it is found when it is read,
// and the entry goes, so that the next build stores it anew.
func TestGetFirstOfDamaged(t *testing.T) {
	t.Parallel()
	s := open(t)
	e := withRest(t, "e", restLeast)
	put(t, s, e, store.Stored)
	got, err := s.GetFirst(bg, e.Key)
	must(t, err)
	path := binPath(s, e.Key)
	flip(-1)(t, path)
	if _, err := s.GetFirst(bg, e.Key); err != nil {
		t.Fatalf("the first binary is as it was: %v", err)
	}
	wantMissOf := func(when string, err error, want reason.Reason) {
		t.Helper()
		var m *store.MissError
		if !errors.As(err, &m) || m.Reason != want {
			t.Errorf("%s: %v, want %v", when, err, want)
		}
	}
	_, err = s.GetRest(bg, e.Key, got.Artifact)
	wantMissOf("damaged", err, reason.MissDigest)
	_, err = s.GetRest(bg, e.Key, got.Artifact)
	wantMissOf("gone", err, reason.MissAbsent)

	put(t, s, e, store.Stored)
	flip(int64(restLeast)/2)(t, path)
	_, err = s.GetFirst(bg, e.Key)
	wantMissOf("the first is damaged", err, reason.MissDigest)

	must(t, s.Delete(bg, e.Key))
	other := withRest(t, "e", restLeast)
	other.Artifact.Binaries[2].Data[0] ^= 1
	put(t, s, other, store.Stored)
	_, err = s.GetRest(bg, e.Key, got.Artifact)
	if !errors.Is(err, errReplaced) || !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another entry's: %v", err)
	}
	wantHit(t, s, other)
}
