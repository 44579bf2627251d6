package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
)

func putBlob(t *testing.T, b store.Blobs, kind store.Kind, name key.Digest, content string) {
	t.Helper()
	if err := b.PutBlob(context.Background(), kind, name, []byte(content)); err != nil {
		t.Fatalf("put %s %q: %v", kind, content, err)
	}
}

func wantBlob(t *testing.T, b store.Blobs, kind store.Kind, name key.Digest, want string) []byte {
	t.Helper()
	got, err := b.GetBlob(context.Background(), kind, name)
	if err != nil || string(got) != want {
		t.Fatalf("get %s: %q, %v; want %q", kind, got, err, want)
	}
	if size := int64(len(want)); !b.HasBlob(kind, name, size) || b.HasBlob(kind, name, size+1) {
		t.Errorf("%s %q: HasBlob reports it %v with its size, %v with another", kind, want, b.HasBlob(kind, name, size), b.HasBlob(kind, name, size+1))
	}
	return got
}

func wantNoBlob(t *testing.T, b store.Blobs, kind store.Kind, name key.Digest) {
	t.Helper()
	got, err := b.GetBlob(context.Background(), kind, name)
	if m := new(store.MissError); !errors.As(err, &m) || m.Reason != reason.MissAbsent || got != nil {
		t.Fatalf("get %s: %q, %v; want a miss for %v", kind, got, err, reason.MissAbsent)
	}
}

// keeps reports whether a store keeps blobs of a kind. Where it does not, no blob of that kind is there.
func keeps(t *testing.T, b store.Blobs, kind store.Kind) bool {
	t.Helper()
	name := digest("probe")
	err := b.PutBlob(context.Background(), kind, name, []byte("probe"))
	if !errors.Is(err, store.ErrNotKept) {
		return true
	}
	wantNoBlob(t, b, kind, name)
	if b.HasBlob(kind, name, 5) {
		t.Errorf("HasBlob reports one of %s, which are not kept", kind)
	}
	return false
}

func digest(content string) key.Digest { return sha256.Sum256([]byte(content)) }

// blobKinds: a name of one kind is none of another, and blobs are no entries.
func blobKinds(t *testing.T, s store.Store, b store.Blobs) {
	name := digest("one\x00")
	wantNoBlob(t, b, store.Headers, name)
	wantNoBlob(t, b, store.Manifests, name)
	if b.HasBlob(store.Headers, name, 4) {
		t.Error("HasBlob reports a header that was not put")
	}
	headers := keeps(t, b, store.Headers)
	if headers {
		putBlob(t, b, store.Headers, name, "one\x00")
		wantNoBlob(t, b, store.Manifests, name)
	}
	putBlob(t, b, store.Manifests, name, "")
	if headers {
		wantBlob(t, b, store.Headers, name, "one\x00")
	}
	wantBlob(t, b, store.Manifests, name, "")
	for _, err := range s.List(context.Background()) {
		t.Fatalf("a store of blobs yields an entry, error %v", err)
	}
}

// headerBlobs are what their names say, whoever puts them.
func headerBlobs(t *testing.T, s store.Store, b store.Blobs) {
	ctx := context.Background()
	e := New(t, "e", 100)
	e.Headers = map[key.Digest][]byte{digest("of e"): []byte("of e"), digest("one"): []byte("one")}
	if !keeps(t, b, store.Headers) {
		put(t, s, e, store.Stored)
		wantNoBlob(t, b, store.Headers, digest("of e"))
		return
	}
	if err := b.PutBlob(ctx, store.Headers, digest("one"), []byte("two")); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("put under another name: %v, want ErrInvalid", err)
	}
	wantNoBlob(t, b, store.Headers, digest("one"))
	putBlob(t, b, store.Headers, digest("one"), "one")
	putBlob(t, b, store.Headers, digest("one"), "one")
	wantBlob(t, b, store.Headers, digest("one"), "one")

	put(t, s, e, store.Stored)
	wantBlob(t, b, store.Headers, digest("of e"), "of e")
	wantBlob(t, b, store.Headers, digest("one"), "one")
}

// manifestBlobs: the last one that was put counts.
func manifestBlobs(t *testing.T, _ store.Store, b store.Blobs) {
	name := digest("name")
	for _, content := range []string{"one", "another", "", "one"} {
		putBlob(t, b, store.Manifests, name, content)
		wantBlob(t, b, store.Manifests, name, content)
	}
	wantNoBlob(t, b, store.Manifests, digest("another name"))
}

// unknownKind: a name of no kind is refused, and no place outside.
func unknownKind(t *testing.T, _ store.Store, b store.Blobs) {
	for _, kind := range []store.Kind{"", "tmp", "../headers"} {
		if err := b.PutBlob(context.Background(), kind, digest("x"), []byte("x")); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("put of kind %q: %v, want ErrInvalid", kind, err)
		}
		if got, err := b.GetBlob(context.Background(), kind, digest("x")); !errors.Is(err, store.ErrNotFound) || b.HasBlob(kind, digest("x"), 1) {
			t.Errorf("get of kind %q: %q, %v", kind, got, err)
		}
	}
}

func blobsAreOwned(t *testing.T, _ store.Store, b store.Blobs) {
	for _, kind := range []store.Kind{store.Headers, store.Manifests} {
		if !keeps(t, b, kind) {
			continue
		}
		content := []byte("content")
		name := digest("content")
		if err := b.PutBlob(context.Background(), kind, name, content); err != nil {
			t.Fatal(err)
		}
		clear(content)
		clear(wantBlob(t, b, kind, name, "content"))
		wantBlob(t, b, kind, name, "content")
	}
}

func cancelledBlobs(t *testing.T, _ store.Store, b store.Blobs) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	name := digest("content")
	for _, kind := range []store.Kind{store.Headers, store.Manifests} {
		if err := b.PutBlob(ctx, kind, name, []byte("content")); !errors.Is(err, context.Canceled) {
			t.Errorf("put: %v, want the context's error", err)
		}
		if _, err := b.GetBlob(ctx, kind, name); !errors.Is(err, context.Canceled) || !errors.Is(err, store.ErrNotFound) {
			t.Errorf("get: %v, want a miss that wraps the context's error", err)
		}
		wantNoBlob(t, b, kind, name)
	}
}

// manyBlobs: readers see one of those that are put, whole.
func manyBlobs(t *testing.T, _ store.Store, b store.Blobs) {
	name := digest("name")
	whole := func(content []byte) bool {
		return len(content) >= 1000 && len(bytes.Trim(content, string(content[:1]))) == 0 && len(content) == 1000+int(content[0])
	}
	together(16, func(i int) {
		for range 10 {
			content := bytes.Repeat([]byte{byte(i)}, 1000+i)
			if err := b.PutBlob(context.Background(), store.Manifests, name, content); err != nil {
				t.Errorf("put: %v", err)
			}
			if got, err := b.GetBlob(context.Background(), store.Manifests, name); err != nil || !whole(got) {
				t.Errorf("get: %d bytes, %v", len(got), err)
			}
		}
	})
}

// getFirst: what is read is what was put, and of what is not form and size are told. It cannot be
// stored in the place of the whole. A buffer is used again, and what is in another one stays.
func getFirst(t *testing.T, s store.Store, f store.FirstGetter) {
	var kept *store.Artifact
	buf := new(store.Buffer)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for i, size := range []int{1, 1000, 1 << 20, 3 << 20} {
		e := New(t, strconv.Itoa(i), size)
		e.Artifact.Binaries = append(e.Artifact.Binaries,
			store.Binary{Form: store.FormIntermediate, Data: Code("PTX", 2*size)}, store.Binary{Form: store.FormDeferred, Data: []byte{0}})
		if got, err := f.GetFirst(context.Background(), e.Key, buf); !errors.Is(err, store.ErrNotFound) || !errors.As(err, new(*store.MissError)) || got != nil {
			t.Fatalf("%d bytes: %v, %v; want no entry and a *store.MissError", size, got, err)
		}
		put(t, s, e, store.Stored)
		if got, err := f.GetFirst(cancelled, e.Key, buf); !errors.Is(err, context.Canceled) || !errors.Is(err, store.ErrNotFound) || got != nil {
			t.Errorf("%d bytes: %v, %v; want a miss that wraps the context's error", size, got, err)
		}
		got, err := f.GetFirst(context.Background(), e.Key, buf)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if got.Key != e.Key || got.Recipe != nil {
			t.Errorf("%d bytes: key equal %v, recipe %v; want the key and no recipe", size, got.Key == e.Key, got.Recipe)
		}
		a, want := got.Artifact, *e.Artifact
		if len(a.Binaries) == 0 || len(a.Binaries)+len(a.Rest) != len(want.Binaries) || a.Size() != want.Size() {
			t.Fatalf("%d bytes: %d binaries, %d unread, of %d bytes", size, len(a.Binaries), len(a.Rest), a.Size())
		}
		for _, b := range want.Binaries[len(a.Binaries):] {
			want.Rest = append(want.Rest, store.Unread{Form: b.Form, Size: int64(len(b.Data))})
		}
		want.Binaries = want.Binaries[:len(a.Binaries)]
		if d := cmp.Diff(&want, a, cmpopts.EquateEmpty(), cmp.Comparer(bytes.Equal)); d != "" {
			t.Errorf("%d bytes: artifact (-want +got):\n%s", size, d)
		}
		if len(a.Rest) > 0 {
			part := &store.Entry{Key: e.Key, Recipe: e.Recipe, Artifact: a}
			if res, err := s.Put(context.Background(), part); !errors.Is(err, store.ErrInvalid) || res != store.Failed {
				t.Errorf("%d bytes: a part is stored: result %d, error %v; want ErrInvalid", size, res, err)
			}
		}
		clear(a.Binaries[0].Data)
		mustGet(t, s, e.Key, e.Artifact)
		if kept != nil && !bytes.Equal(kept.Binaries[0].Data, Code("kept", len(kept.Binaries[0].Data))) {
			t.Errorf("%d bytes: what is in another buffer is changed", size)
		}
		other := New(t, "kept"+strconv.Itoa(i), size)
		other.Artifact.Binaries[0].Data = Code("kept", size)
		put(t, s, other, store.Stored)
		if got, err = f.GetFirst(context.Background(), other.Key, new(store.Buffer)); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		kept = got.Artifact
	}
}

// nearest: one component that differs is named, and nothing else is near.
func nearest(t *testing.T, s store.Store, x store.Explainer) {
	ctx := context.Background()
	base := New(t, "base", 100)
	want := func(r *key.Recipe, why reason.Reason) {
		t.Helper()
		d, err := x.Nearest(ctx, r, key.Digest{})
		if err != nil || d.Reason != why || (d.Key == base.Key) != (why != reason.NearestNothing) || d.Text == "" {
			t.Errorf("%+v, %v; want %v", d, err, why)
		}
	}
	changed := func(change func(*key.Recipe)) *key.Recipe {
		r := *base.Recipe
		change(&r)
		return &r
	}
	driver := changed(func(r *key.Recipe) { r.Device.Driver = "2.0" })
	want(driver, reason.NearestNothing)
	put(t, s, base, store.Stored)
	want(driver, reason.NearestDriver)
	want(changed(func(r *key.Recipe) { r.Options = key.NewOptions("-DOTHER", "") }), reason.NearestOptions)
	want(changed(func(r *key.Recipe) { r.Image = Recipe(t, "int x; float all_else(void);", "").Image }), reason.NearestNothing)
	want(changed(func(r *key.Recipe) { r.Device.Driver, r.Options = "2.0", key.NewOptions("-DOTHER", "") }), reason.NearestNothing)
}
