package kernstash

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/live"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

func artifactOf(form store.Form, code string, variants ...string) *store.Artifact {
	return &store.Artifact{
		Binaries: []store.Binary{{Form: form, Data: []byte(code)}},
		Cost:     time.Second, Variants: variants,
	}
}

// storedFor, storeFor and refuse ask the engine, as the C library does.
func storedFor(x *fakeContext, r Request, device int) (a *store.Artifact, err error) {
	g, err := x.session.BeginOn(r.engine(), device)
	if err == nil {
		a, err = g.Stored(context.Background())
	}
	return a, err
}

func storeFor(x *fakeContext, r Request, device int, a *store.Artifact) (res store.PutResult, err error) {
	g, err := x.session.BeginOn(r.engine(), device)
	if err == nil {
		res, _, err = g.Store(context.Background(), a)
	}
	return res, err
}

func refuse(x *fakeContext, r Request, device int) error {
	g, err := x.session.BeginOn(r.engine(), device)
	if err != nil {
		return err
	}
	if p := liveFor(x, r); p != nil {
		x.tier.Drop(p.live())
		p.Release()
	}
	g.Refuse(context.Background())
	return nil
}

// liveFor returns the program of a request if it is in memory.
func liveFor(x *fakeContext, r Request) *Program[*fakeProgram, *fakeKernel] {
	own := r.engine()
	id, err := x.session.ID(&own)
	if err != nil {
		return nil
	}
	return x.hit((*live.ID)(&id), own.Image.Serial())
}

// wantStored checks the code that the stores have of a request; "" for none.
func wantStored(t *testing.T, x *fakeContext, r Request, want string) {
	t.Helper()
	a, err := storedFor(x, r, 0)
	switch {
	case want == "" && !errors.Is(err, store.ErrNotFound):
		t.Errorf("%v, %v; want ErrNotFound", a, err)
	case want != "" && err != nil:
		t.Error(err)
	case want != "" && string(a.Binaries[0].Data) != want:
		t.Errorf("%q, want %q", a.Binaries[0].Data, want)
	}
}

// Who builds by himself finds what he stored, as does who has the core build.
func TestStoreAndStored(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	r := Request{Image: image(t, src(1)), CompileOptions: "-DA"}
	c := openCache(t, root)
	f := newFake(t)
	x := fakeContextOn(c, f)
	wantStored(t, x, r, "")
	steps := []struct {
		artifact *store.Artifact
		want     store.PutResult
		stored   string
	}{
		{artifactOf(store.FormDeferred, "one", "64"), store.Stored, "one"},
		{artifactOf(store.FormDeferred, "other", "64"), store.Existing, "one"},
		{artifactOf(store.FormDeferred, "two", "32", "64"), store.Bettered, "two"},
		{artifactOf(store.FormFinal, src(1)), store.Bettered, src(1)},
		{artifactOf(store.FormIntermediate, "ptx"), store.Existing, src(1)},
	}
	for i, s := range steps {
		got, err := storeFor(x, r, 0, s.artifact)
		if err != nil || got != s.want {
			t.Errorf("step %d: %v, %v; want %v", i, got, err, s.want)
		}
		wantStored(t, x, r, s.stored)
	}
	if p := liveFor(x, r); p != nil {
		t.Errorf("live %v before anybody asked for the program", p)
	}
	if got := use(t, x, r); got != Disk {
		t.Errorf("the program is %v, want from disk", got)
	}
	p := liveFor(x, r)
	if p == nil {
		t.Fatal("it is not in memory")
	}
	p.Release()
	f.wantBuilds(0)
	wantStats(t, c, map[stats.Counter]int64{
		stats.DiskMisses: 1, stats.Of(reason.MissAbsent): 1, stats.DiskPuts: 1, stats.DiskPutsBettered: 2,
		stats.DiskPutsExisting: 2, stats.Of(reason.NearestNothing): 1, stats.MemoryHits: 1,
	})
}

// What a driver refuses goes, from the store and from memory.
func TestRefuse(t *testing.T) {
	t.Parallel()
	r := Request{Image: image(t, src(1))}
	c := openCache(t, newRoot(t))
	f := newFake(t)
	x := fakeContextOn(c, f)
	if _, err := storeFor(x, r, 0, artifactOf(store.FormFinal, src(1))); err != nil {
		t.Fatal(err)
	}
	use(t, x, r)
	if err := refuse(x, r, 0); err != nil {
		t.Fatal(err)
	}
	wantStored(t, x, r, "")
	if p := liveFor(x, r); p != nil {
		t.Errorf("live %v", p)
	}
	if got := use(t, x, r); got != Compiled {
		t.Errorf("the program is %v, want compiled", got)
	}
	wantStats(t, c, map[stats.Counter]int64{stats.Corrupt: 1})
}

// What cannot be cached, and what makes no sense.
func TestStoreErrors(t *testing.T) {
	t.Parallel()
	c := openCache(t, newRoot(t), func(o *Options) { o.MinBuildTime = time.Minute })
	x := fakeContextOn(c, newFake(t))
	good := artifactOf(store.FormFinal, "code")
	for _, tt := range []struct {
		name   string
		r      Request
		device int
		want   error
	}{
		{"no image", Request{}, 0, ErrInvalid},
		{"no such device", Request{Image: image(t, src(1))}, 1, ErrInvalid},
		{"negative device", Request{Image: image(t, src(1))}, -1, ErrInvalid},
		{"the date", Request{Image: image(t, "__DATE__")}, 0, ErrNotCacheable},
		{"header files", Request{Image: image(t, "#include \"a.h\"\n")}, 0, ErrNotCacheable},
		{"side effects", Request{Image: image(t, src(1)), CompileOptions: "-save-temps"}, 0, ErrNotCacheable},
		{"cheap", Request{Image: image(t, src(1))}, 0, ErrNotCacheable},
	} {
		if _, err := storeFor(x, tt.r, tt.device, good); !errors.Is(err, tt.want) {
			t.Errorf("store, %s: %v, want %v", tt.name, err, tt.want)
		}
		if tt.name == "cheap" {
			continue
		}
		if _, err := storedFor(x, tt.r, tt.device); !errors.Is(err, tt.want) {
			t.Errorf("stored, %s: %v, want %v", tt.name, err, tt.want)
		}
		if err := refuse(x, tt.r, tt.device); !errors.Is(err, tt.want) {
			t.Errorf("refuse, %s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// What each mode reads and writes.
func TestStoreInModes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode   string
		stored string // that is found
		put    store.PutResult
		after  string // in mode on
		want   map[stats.Counter]int64
	}{
		{"on", "old", store.Existing, "old", map[stats.Counter]int64{stats.DiskHits: 1}},
		{"read-only", "old", store.Failed, "old", map[stats.Counter]int64{stats.DiskHits: 1}},
		{"refresh", "", store.Stored, "new", map[stats.Counter]int64{stats.Of(reason.MissRefresh): 1}},
		{"observe", "", store.Existing, "old", map[stats.Counter]int64{stats.Of(reason.ObserveHits): 1, stats.ObserveDifferent: 1}},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			root := newRoot(t)
			r := Request{Image: image(t, src(1))}
			in := func(mode string) (*Cache, *fakeContext) {
				c := openCache(t, root, inMode(Mode(mode)))
				return c, fakeContextOn(c, newFake(t))
			}
			_, x := in("on")
			if _, err := storeFor(x, r, 0, artifactOf(store.FormFinal, "old")); err != nil {
				t.Fatal(err)
			}
			c, x := in(tt.mode)
			wantStored(t, x, r, tt.stored)
			got, err := storeFor(x, r, 0, artifactOf(store.FormFinal, "new"))
			if diff := cmp.Diff(tt.put, got); diff != "" || (err != nil) != (tt.put == store.Failed) {
				t.Errorf("put (-want +got): %s, %v", diff, err)
			}
			wantStats(t, c, tt.want)
			_, x = in("on")
			wantStored(t, x, r, tt.after)
		})
	}
}
