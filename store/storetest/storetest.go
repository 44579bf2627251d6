package storetest

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
)

// Run checks a store. open returns one that is empty, and that nothing else
// uses; what it needs to be closed it registers with t.Cleanup. The subtests
// run in parallel.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, store.Store){
		"RoundTrip":            roundTrip,
		"NotFound":             notFound,
		"OnlyBetterReplaces":   onlyBetterReplaces,
		"InvalidIsRefused":     invalidIsRefused,
		"ImageOrder":           imageOrder,
		"OneComponentDiffers":  oneComponentDiffers,
		"Delete":               deleteTwice,
		"List":                 list,
		"ListStops":            listStops,
		"EntriesAreOwned":      entriesAreOwned,
		"OneKeyManyGoroutines": oneKeyManyGoroutines,
		"ManyKeys":             manyKeys,
		"CancelledContext":     cancelledContext,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
	offered(t, open, map[string]func(*testing.T, store.Store, store.Locker){
		"LockExcludes":   lockExcludes,
		"LockTimesOut":   lockTimesOut,
		"LockIsPerKey":   lockIsPerKey,
		"LockEndsByCtx":  lockEndsByContext,
		"LockAllowsPut":  lockAllowsPut,
		"UnlockAnywhere": unlockAnywhere,
	})
	offered(t, open, map[string]func(*testing.T, store.Store, store.Blobs){
		"BlobKinds":      blobKinds,
		"HeaderBlobs":    headerBlobs,
		"ManifestBlobs":  manifestBlobs,
		"UnknownKind":    unknownKind,
		"BlobsAreOwned":  blobsAreOwned,
		"CancelledBlobs": cancelledBlobs,
		"ManyBlobs":      manyBlobs,
	})
	offered(t, open, map[string]func(*testing.T, store.Store, store.Explainer){"Nearest": nearest})
	offered(t, open, map[string]func(*testing.T, store.Store, store.FirstGetter){"GetFirst": getFirst})
}

// offered runs tests of an optional interface, if the store has it.
func offered[T any](t *testing.T, open func(t *testing.T) store.Store, tests map[string]func(*testing.T, store.Store, T)) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			offer, ok := s.(T)
			if !ok {
				t.Logf("%T does not offer it: nothing to check", s)
				return
			}
			test(t, s, offer)
		})
	}
}

func put(t *testing.T, s store.Store, e *store.Entry, want store.PutResult) {
	t.Helper()
	got, err := s.Put(context.Background(), e)
	if err != nil || got != want {
		t.Fatalf("put: result %d, error %v; want result %d", got, err, want)
	}
}

// mustGet checks that the store answers with exactly this artifact.
func mustGet(t *testing.T, s store.Store, k key.Key, want *store.Artifact) *store.Entry {
	t.Helper()
	e, err := s.Get(context.Background(), k)
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	if e.Key != k || e.Recipe != nil {
		t.Errorf("get: key equal %v, recipe %v; want the key and no recipe", e.Key == k, e.Recipe)
	}
	if d := cmp.Diff(want, e.Artifact, cmpopts.EquateEmpty(), cmp.Comparer(bytes.Equal)); d != "" {
		t.Fatalf("artifact (-want +got):\n%s", d)
	}
	return e
}

func mustMiss(t *testing.T, s store.Store, k key.Key) {
	t.Helper()
	e, err := s.Get(context.Background(), k)
	if m := new(store.MissError); !errors.Is(err, store.ErrNotFound) || !errors.As(err, &m) || e != nil {
		t.Fatalf("get: %v, %v; want no entry and a *store.MissError", e, err)
	}
}

func roundTrip(t *testing.T, s store.Store) {
	full := New(t, "full", 50_000)
	full.Artifact.Binaries = append(full.Artifact.Binaries,
		store.Binary{Form: store.FormIntermediate, Data: []byte("PTX\x00\x00")},
		store.Binary{Form: store.FormDeferred, Data: []byte{0}})
	full.Artifact.Kernels = append(full.Artifact.Kernels, store.Kernel{}, store.Kernel{Name: "a\x00b"})
	full.Artifact.Variants = []string{"", "8,1,1", "8,8,1\x00"}
	full.Artifact.Log = "line\x00\nline"

	bare := New(t, "bare", 1)
	bare.Artifact = &store.Artifact{
		Binaries: []store.Binary{{Form: store.FormFinal, Data: []byte{0}}},
		Created:  time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
	}

	// NUL bytes in every part of the key (DPC++ 1).
	nul := New(t, "nul", 10)
	img, err := key.NewImage(key.SPIRV, []byte("a\x00b\x00"), key.Header{Name: "h\x00", Content: []byte{0}})
	if err != nil {
		t.Fatal(err)
	}
	consts, err := key.NewConstants(key.Uint32(0, 0), key.SpecConstant{ID: 7, Value: []byte{0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	nul.Recipe.Image, nul.Recipe.Constants = img, consts
	nul.Recipe.Options.Compile = []string{"-DX=\x00", "\x00"}
	nul.Recipe.Device.Name = "dev\x00ice"
	nul.Key = nul.Recipe.Key()

	large := New(t, "large", 3<<20)
	for name, e := range map[string]*store.Entry{"full": full, "bare": bare, "NUL": nul, "large": large} {
		t.Run(name, func(t *testing.T) {
			put(t, s, e, store.Stored)
			mustGet(t, s, e.Key, e.Artifact)
			mustGet(t, s, e.Key, e.Artifact)
		})
	}
}

func notFound(t *testing.T, s store.Store) {
	e := New(t, "one", 100)
	mustMiss(t, s, e.Key)
	mustMiss(t, s, key.Key{})
	put(t, s, e, store.Stored)
	mustMiss(t, s, New(t, "two", 100).Key)
	var m *store.MissError
	if _, err := s.Get(context.Background(), New(t, "two", 100).Key); !errors.As(err, &m) ||
		m.Reason != reason.MissAbsent && m.Reason != reason.MissCollision {
		t.Errorf("reason %v, want %v", m, reason.MissAbsent)
	}
}

func onlyBetterReplaces(t *testing.T, s store.Store) {
	e := New(t, "e", 100)
	with := func(form store.Form, code string, variants ...string) *store.Entry {
		a := *e.Artifact
		a.Binaries = []store.Binary{{Form: form, Data: []byte(code)}}
		a.Variants = variants
		return &store.Entry{Key: e.Key, Recipe: e.Recipe, Artifact: &a}
	}
	for _, step := range []struct {
		put  *store.Entry
		want store.PutResult
	}{
		{with(store.FormIntermediate, "ptx"), store.Stored},
		{with(store.FormIntermediate, "other"), store.Existing},
		{with(store.FormDeferred, "some", "8"), store.Bettered},
		{with(store.FormIntermediate, "ptx"), store.Existing},
		{with(store.FormDeferred, "elsewhere", "16"), store.Existing},
		{with(store.FormDeferred, "more", "16", "8"), store.Bettered},
		{with(store.FormDeferred, "less", "16"), store.Existing},
		{with(store.FormFinal, "final"), store.Bettered},
		{with(store.FormFinal, "final again"), store.Existing},
	} {
		put(t, s, step.put, step.want)
		if step.want != store.Existing {
			e = step.put
		}
		mustGet(t, s, e.Key, e.Artifact)
	}
	n := 0
	for _, err := range s.List(context.Background()) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 1 {
		t.Errorf("%d entries of one key", n)
	}
}

func invalidIsRefused(t *testing.T, s store.Store) {
	good := New(t, "good", 100)
	change := func(f func(*store.Entry)) *store.Entry {
		e, a := *good, *good.Artifact
		e.Artifact = &a
		f(&e)
		return &e
	}
	for name, e := range map[string]*store.Entry{
		"nil":           nil,
		"no recipe":     change(func(e *store.Entry) { e.Recipe = nil }),
		"no image":      change(func(e *store.Entry) { e.Recipe = &key.Recipe{} }),
		"no artifact":   change(func(e *store.Entry) { e.Artifact = nil }),
		"no code":       change(func(e *store.Entry) { e.Artifact.Binaries = nil }),
		"empty code":    change(func(e *store.Entry) { e.Artifact.Binaries = []store.Binary{{Form: store.FormFinal}} }),
		"unknown form":  change(func(e *store.Entry) { e.Artifact.Binaries = []store.Binary{{Form: 9, Data: []byte{1}}} }),
		"key of others": change(func(e *store.Entry) { e.Key = New(t, "other", 1).Key }),
		"zero key":      change(func(e *store.Entry) { e.Key = key.Key{} }),
		"unsorted":      change(func(e *store.Entry) { e.Artifact.Variants = []string{"b", "a"} }),
	} {
		if res, err := s.Put(context.Background(), e); !errors.Is(err, store.ErrInvalid) || res != store.Failed {
			t.Errorf("%s: result %d, error %v; want ErrInvalid", name, res, err)
		}
	}
	mustMiss(t, s, good.Key)
}

// imageOrder: several images are found whatever their order (DPC++ 2).
func imageOrder(t *testing.T, s store.Store) {
	a := key.Unit{Kind: key.OpenCLC, Code: []byte("a")}
	b := key.Unit{Kind: key.SPIRV, Code: []byte("b\x00")}
	c := key.Unit{Kind: key.OpenCLC, Code: []byte("c")}
	recipe := func(units ...key.Unit) *key.Recipe {
		img, err := key.NewImageSet(units...)
		if err != nil {
			t.Fatal(err)
		}
		return &key.Recipe{Device: Device(), Image: img}
	}
	e := Entry(recipe(a, b, c), "set", 100)
	put(t, s, e, store.Stored)
	for _, r := range []*key.Recipe{recipe(a, b, c), recipe(c, a, b), recipe(b, c, a), recipe(c, b, a)} {
		mustGet(t, s, r.Key(), e.Artifact)
	}
	put(t, s, Entry(recipe(c, b, a), "set", 100), store.Existing)
	mustMiss(t, s, recipe(a, b).Key())
	mustMiss(t, s, recipe(a, b, c, c).Key())
}

// oneComponentDiffers: changing any one component of a key is another entry.
func oneComponentDiffers(t *testing.T, s store.Store) {
	base := New(t, "base", 100)
	put(t, s, base, store.Stored)
	consts, err := key.NewConstants(key.Uint32(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*key.Recipe){
		"driver":    func(r *key.Recipe) { r.Device.Driver = "1.1" },
		"compiler":  func(r *key.Recipe) { r.Device.Compiler = []key.Pair{{Name: "libtest", Value: "build-id-2"}} },
		"image":     func(r *key.Recipe) { r.Image = Recipe(t, "other", "").Image },
		"constants": func(r *key.Recipe) { r.Constants = consts },
		"options":   func(r *key.Recipe) { r.Options.Compile = nil },
		"link":      func(r *key.Recipe) { r.Options.Link = []string{"-x"} },
		"attribute": func(r *key.Recipe) { r.Options.Attributes = []key.Pair{{Name: "V", Value: "1"}} },
		"variables": func(r *key.Recipe) { r.Options.Variables = []key.Pair{{Name: "V", Value: "1"}} },
	} {
		r := *base.Recipe
		change(&r)
		e := Entry(&r, name, 100)
		mustMiss(t, s, e.Key)
		put(t, s, e, store.Stored)
		mustGet(t, s, e.Key, e.Artifact)
	}
	mustGet(t, s, base.Key, base.Artifact)
}

func deleteTwice(t *testing.T, s store.Store) {
	a, b := New(t, "a", 100), New(t, "b", 100)
	ctx := context.Background()
	if err := s.Delete(ctx, a.Key); err != nil {
		t.Errorf("delete from an empty store: %v", err)
	}
	put(t, s, a, store.Stored)
	put(t, s, b, store.Stored)
	for range 2 {
		if err := s.Delete(ctx, a.Key); err != nil {
			t.Fatalf("delete: %v", err)
		}
		mustMiss(t, s, a.Key)
	}
	mustGet(t, s, b.Key, b.Artifact)
	put(t, s, a, store.Stored)
	mustGet(t, s, a.Key, a.Artifact)
}

func list(t *testing.T, s store.Store) {
	for _, err := range s.List(context.Background()) {
		t.Fatalf("an empty store yields an entry, error %v", err)
	}
	want := make(map[key.Key]*store.Entry)
	for i := range 12 {
		e := New(t, strconv.Itoa(i), 100*i+1)
		put(t, s, e, store.Stored)
		want[e.Key] = e
	}
	for info, err := range s.List(context.Background()) {
		if err != nil || info.Bad != nil {
			t.Fatalf("list: %v, %v", err, info.Bad)
		}
		e := want[info.Key]
		if e == nil {
			t.Fatalf("an entry that was not put, or twice: %s", info.Key.Short())
		}
		delete(want, info.Key)
		if d := cmp.Diff(e.Recipe.Device, info.Device, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("device (-want +got):\n%s", d)
		}
		if info.Cost != e.Artifact.Cost || !info.Created.Equal(e.Artifact.Created) || info.Location == "" ||
			info.Size <= e.Artifact.Size() || info.Accessed.IsZero() {
			t.Errorf("info %+v of an artifact with cost %v, created %v, %d bytes of code",
				info, e.Artifact.Cost, e.Artifact.Created, e.Artifact.Size())
		}
		if d := cmp.Diff([]string{e.Artifact.Kernels[0].Name}, info.Kernels); d != "" {
			t.Errorf("kernels (-want +got):\n%s", d)
		}
	}
	if len(want) > 0 {
		t.Errorf("%d entries were not yielded", len(want))
	}
}

// listStops: a consumer may stop at any entry.
func listStops(t *testing.T, s store.Store) {
	put(t, s, New(t, "a", 100), store.Stored)
	put(t, s, New(t, "b", 100), store.Stored)
	n := 0
	for range s.List(context.Background()) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d entries before the first was seen", n)
	}
}

// entriesAreOwned: what a caller does to an entry it got, or to one it has
// put, changes nothing for others.
func entriesAreOwned(t *testing.T, s store.Store) {
	e, want := New(t, "e", 1000), New(t, "e", 1000)
	put(t, s, e, store.Stored)
	clear(e.Artifact.Binaries[0].Data)
	got := mustGet(t, s, want.Key, want.Artifact)
	clear(got.Artifact.Binaries[0].Data)
	got.Artifact.Kernels[0].Name = "changed"
	mustGet(t, s, want.Key, want.Artifact)
}
