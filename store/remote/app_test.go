package remote_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/trust"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// fleet is a remote whose entries and lists are signed, with an application that uses 40 entries and a manifest.
type fleet struct {
	m       *remotetest.Memory
	private ed25519.PrivateKey
	keys    []key.Key
	sums    []key.Digest
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	private, err := trust.Generate()
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{m: new(remotetest.Memory), private: private}
	s := f.store(nil, remote.Options{})
	for i := range 40 {
		e := storetest.New(t, fmt.Sprint(i), 100)
		if _, err := s.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		f.keys, f.sums = append(f.keys, e.Key), append(f.sums, e.Key.Sum)
	}
	if err := s.PutBlob(t.Context(), store.Manifests, key.Digest{1}, []byte("manifest")); err != nil {
		t.Fatal(err)
	}
	f.put(t)
	return f
}

// store returns one over objects, nil being all of them, one by one, which signs unless o says how.
func (f *fleet) store(objects remote.Objects, o remote.Options) *remote.Store {
	if objects == nil {
		objects = oneByOne{f.m}
	}
	if o.Sign == nil {
		o.Sign = f.private
	}
	o.Trust = trust.Of(f.private.Public().(ed25519.PublicKey))
	return remote.New(objects, o)
}

func (f *fleet) put(t *testing.T) {
	t.Helper()
	put, err := f.store(nil, remote.Options{}).PutApp(t.Context(), "app", f.sums, []key.Digest{{1}, {2}})
	if err != nil || put.Listed != 40 || put.Manifests != 1 || put.Packed == 0 {
		t.Fatalf("%+v, %v", put, err)
	}
}

// get gets what a list says, and how many of its entries and manifests came.
func (f *fleet) get(t *testing.T, s *remote.Store) (entries, manifests int) {
	t.Helper()
	list, err := s.App(t.Context(), "app")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&store.App{Keys: f.keys, Manifests: []key.Digest{{1}}}, list); diff != "" {
		t.Error(diff)
	}
	asked := 0
	s.GetApp(t.Context(), "app", list, true, func(k key.Key, e *store.Entry, err error) {
		if asked++; err == nil {
			entries++
			if e.Key != k || e.Recipe.Key() != k {
				t.Error("an entry of another key")
			}
		}
	}, func(name key.Digest, b, _ []byte, err error) {
		if asked++; err == nil && string(b) == "manifest" {
			manifests++
		}
	})
	if asked != 41 {
		t.Errorf("%d answers, want 41", asked)
	}
	return entries, manifests
}

// TestAppPack: a pack is read in the place of its objects, and whatever is wrong with it, they are.
func TestAppPack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil  func(t *testing.T, f *fleet, pack []byte) []byte // nil: there is none
		single int64                                            // objects that are got by themselves
		bad    int64                                            // that are counted
	}{
		"whole":     {func(_ *testing.T, _ *fleet, pack []byte) []byte { return pack }, 0, 0},
		"none":      {func(*testing.T, *fleet, []byte) []byte { return nil }, 41, 0},
		"empty":     {func(*testing.T, *fleet, []byte) []byte { return []byte{} }, 41, 0},
		"truncated": {func(_ *testing.T, _ *fleet, pack []byte) []byte { return pack[:len(pack)-1] }, 1, 0},
		"of another version": {func(_ *testing.T, _ *fleet, pack []byte) []byte {
			pack[8]++
			return pack
		}, 41, 0},
		"a length that leads out": {func(_ *testing.T, _ *fleet, pack []byte) []byte {
			binary.LittleEndian.PutUint32(pack[12:], 1<<31)
			return pack
		}, 41, 0},
		"damaged in the middle": {func(_ *testing.T, _ *fleet, pack []byte) []byte {
			pack[len(pack)-1]++
			return pack
		}, 1, 1},
		"too large": {func(_ *testing.T, _ *fleet, pack []byte) []byte { // and good, up to there
			return append(pack, make([]byte, remote.MaxPack+1-len(pack))...)
		}, 41, 0},
		"of objects that nobody signed": {func(t *testing.T, f *fleet, pack []byte) []byte {
			other := new(remotetest.Memory)
			s := remote.New(oneByOne{other}, remote.Options{})
			for i := range 40 {
				if _, err := s.Put(t.Context(), storetest.New(t, fmt.Sprint(i), 100)); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.PutBlob(t.Context(), store.Manifests, key.Digest{1}, []byte("evil")); err != nil {
				t.Fatal(err)
			}
			if _, err := s.PutApp(t.Context(), "app", f.sums, []key.Digest{{1}}); err != nil {
				t.Fatal(err)
			}
			return must(other.Get(t.Context(), s.PackName("app"), 1<<20))
		}, 41, 41},
		"of another tenant": {func(t *testing.T, f *fleet, pack []byte) []byte {
			s := f.store(nil, remote.Options{Tenant: "other"})
			for i := range 40 {
				if _, err := s.Put(t.Context(), storetest.New(t, fmt.Sprint(i), 100)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.PutApp(t.Context(), "app", f.sums, nil); err != nil {
				t.Fatal(err)
			}
			return must(f.m.Get(t.Context(), s.PackName("app"), 1<<20))
		}, 41, 40},
	} {
		f := newFleet(t)
		var counts stats.Counters
		s := f.store(nil, remote.Options{Recorder: &counts})
		pack := tt.spoil(t, f, must(f.m.Get(t.Context(), s.PackName("app"), 1<<20)))
		if err := f.m.Delete(t.Context(), s.PackName("app")); err != nil {
			t.Fatal(err)
		}
		if pack != nil {
			f.m.Set(s.PackName("app"), pack)
		}
		var single atomic.Int64
		f.m.Fault = func(_ context.Context, _ remotetest.Op, object string) error {
			if object != s.AppName("app") && object != s.PackName("app") {
				single.Add(1)
			}
			return nil
		}
		if entries, manifests := f.get(t, s); entries != 40 || manifests != 1 || single.Load() != tt.single {
			t.Errorf("%s: %d entries, %d manifests; %d got by themselves, want %d", name, entries, manifests, single.Load(), tt.single)
		}
		now := counts.Snapshot()
		if bad := now.Get(stats.Corrupt) + now.Get(stats.Of(reason.MissUntrusted)); bad != tt.bad {
			t.Errorf("%s: %d are counted, want %d", name, bad, tt.bad)
		}
	}
}

// TestApp: lists that are not what was asked for are none.
func TestApp(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	s := f.store(nil, remote.Options{})
	good := must(f.m.Get(t.Context(), s.AppName("app"), 1<<20))
	for name, tt := range map[string]struct {
		b    []byte
		want reason.Reason
	}{
		"good":         {good, 0},
		"truncated":    {good[:len(good)-1], reason.MissTruncated},
		"damaged":      {append(bytes.Clone(good[:len(good)-1]), good[len(good)-1]+1), reason.MissDigest},
		"longer":       {append(bytes.Clone(good), 0), reason.MissTruncated},
		"another kind": {must(f.m.Get(t.Context(), s.Name(f.keys[0]), 1<<20)), reason.MissUntrusted},
		"huge":         {make([]byte, 17<<20), reason.MissTruncated},
		"another application": {func() []byte {
			must(s.PutApp(t.Context(), "another", nil, nil))
			return must(f.m.Get(t.Context(), s.AppName("another"), 1<<20))
		}(), reason.MissUntrusted},
		"unsigned": {func() []byte {
			other := new(remotetest.Memory)
			must(remote.New(other, remote.Options{}).PutApp(t.Context(), "app", nil, nil))
			return must(other.Get(t.Context(), s.AppName("app"), 1<<20))
		}(), reason.MissUntrusted},
		"another tenant": {func() []byte {
			other := f.store(nil, remote.Options{Tenant: "other"})
			must(other.PutApp(t.Context(), "app", nil, nil))
			return must(f.m.Get(t.Context(), other.AppName("app"), 1<<20))
		}(), reason.MissUntrusted},
	} {
		f.m.Set(s.AppName("app"), tt.b)
		list, err := s.App(t.Context(), "app")
		if reasonOf(err) != tt.want || (list != nil) != (tt.want == 0) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	if _, err := s.App(t.Context(), "nobody's"); reasonOf(err) != reason.MissAbsent {
		t.Error(err)
	}
}

// TestPutApp: what is listed is in the remote, and good; and what is unsigned replaces nothing that is signed.
func TestPutApp(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	s := f.store(nil, remote.Options{})
	for _, name := range []string{"", strings.Repeat("x", 257)} {
		if _, err := s.PutApp(t.Context(), name, nil, nil); err == nil {
			t.Errorf("the list of %q", name)
		}
	}
	unsigned := remote.New(oneByOne{f.m}, remote.Options{})
	if _, err := unsigned.PutApp(t.Context(), "app", nil, nil); !errors.Is(err, store.ErrStays) {
		t.Errorf("an unsigned list replaces a signed one: %v", err)
	}
	f.m.Set(s.Name(f.keys[0]), []byte("damaged"))
	put, err := s.PutApp(t.Context(), "app", append(f.sums, f.sums[3], key.Digest{9}), nil)
	if want := (remote.AppPut{Listed: 39, Absent: 1, Bad: 1}); err != nil || put.Packed == 0 || cmp.Diff(want, remote.AppPut{Listed: put.Listed, Absent: put.Absent, Bad: put.Bad}) != "" {
		t.Errorf("%+v, %v", put, err)
	}
	if list := must(s.App(t.Context(), "app")); len(list.Keys) != 39 || len(list.Manifests) != 0 {
		t.Errorf("%d keys, %d manifests", len(list.Keys), len(list.Manifests))
	}
	// A remote that does not answer for one of them is no reason to list fewer.
	silent := errors.New("silent")
	f.m.Fault = func(_ context.Context, _ remotetest.Op, object string) error {
		if object == s.Name(f.keys[5]) {
			return silent
		}
		return nil
	}
	if _, err := s.PutApp(t.Context(), "app", f.sums, nil); !errors.Is(err, silent) {
		t.Errorf("%v, want %v", err, silent)
	}
	// What finds no room in the pack is left out of it.
	f.m.Fault = nil
	small := f.store(nil, remote.Options{MaxSize: 20_000})
	if put, err := small.PutApp(t.Context(), "app", f.sums[1:], nil); err != nil || put.Listed != 39 || put.Packed == 0 || put.Packed > 20_000 {
		t.Errorf("%+v, %v", put, err)
	}
}
