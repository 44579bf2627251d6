package remotetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/store/remote"
)

// Lack is what an engine cannot do, and need not.
type Lack int

// What may lack.
const (
	WriteOnce Lack = iota // a Put that does not replace: it always does
	Lists                 // List: it answers ErrUnsupported
)

// RunObjects checks an engine, and its leases and ManyGetter where it offers them. open returns one that
// is empty, and that nothing else uses; what it needs to be closed it registers with t.Cleanup. The
// subtests run in parallel.
func RunObjects(t *testing.T, open func(t *testing.T) remote.Objects, lacks ...Lack) {
	t.Helper()
	can := func(l Lack) bool { return !slices.Contains(lacks, l) }
	for name, test := range map[string]func(*testing.T, remote.Objects){
		"RoundTrip":         roundTrip,
		"NotFound":          notFound,
		"Limit":             limit,
		"Replace":           replace,
		"Delete":            deleted,
		"Names":             names,
		"BytesAreOwned":     bytesAreOwned,
		"WholeObjects":      wholeObjects,
		"CancelledContext":  func(t *testing.T, o remote.Objects) { cancelled(t, o, can(Lists)) },
		"OnceUnlessReplace": func(t *testing.T, o remote.Objects) { once(t, o, can(WriteOnce)) },
		"OnceOfMany":        func(t *testing.T, o remote.Objects) { onceOfMany(t, o, can(WriteOnce)) },
		"List":              func(t *testing.T, o remote.Objects) { list(t, o, can(Lists)) },
		"ListMany":          func(t *testing.T, o remote.Objects) { listMany(t, o, can(Lists)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
	offered(t, open, map[string]func(*testing.T, remote.Objects, remote.ManyGetter){"GetMany": getMany, "GetManyCancelled": getManyCancelled})
	offered(t, open, map[string]func(*testing.T, remote.Objects, remote.Leaser){
		"LeaseExcludes": leaseExcludes, "LeaseOfMany": leaseOfMany, "LeaseEnds": leaseEnds, "LeaseIsRenewed": leaseIsRenewed,
		"LeaseCancelled": leaseCancelled, "LeaseIsNoObject": leaseIsNoObject,
	})
}

// offered runs tests of an optional interface, if the engine has it.
func offered[T any](t *testing.T, open func(t *testing.T) remote.Objects, tests map[string]func(*testing.T, remote.Objects, T)) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t)
			offer, ok := o.(T)
			if !ok {
				t.Logf("%T does not offer it: nothing to check", o)
				return
			}
			test(t, o, offer)
		})
	}
}

const plenty = 64 << 20 // a limit that no object of a test reaches

func put(t *testing.T, o remote.Objects, name, content string) {
	t.Helper()
	if err := o.Put(t.Context(), name, []byte(content), true); err != nil {
		t.Fatalf("put %s: %v", name, err)
	}
}

func want(t *testing.T, o remote.Objects, name, content string) {
	t.Helper()
	got, err := o.Get(t.Context(), name, plenty)
	if err != nil || string(got) != content {
		t.Fatalf("get %s: %d bytes, %v; want %d bytes", name, len(got), err, len(content))
	}
}

func wantNone(t *testing.T, o remote.Objects, name string) {
	t.Helper()
	if got, err := o.Get(t.Context(), name, plenty); !errors.Is(err, remote.ErrNotFound) || got != nil {
		t.Fatalf("get %s: %d bytes, %v; want ErrNotFound", name, len(got), err)
	}
}

// bytesOf returns n bytes, all values among them.
func bytesOf(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return string(b)
}

func roundTrip(t *testing.T, o remote.Objects) {
	for _, n := range []int{0, 1, 2, 4095, 50_000, 3 << 20} {
		name := fmt.Sprintf("v1/default/%d", n)
		put(t, o, name, bytesOf(n))
		want(t, o, name, bytesOf(n))
		want(t, o, name, bytesOf(n))
	}
	put(t, o, "v1/default/text", "a\r\nb\n\x00\xff")
	want(t, o, "v1/default/text", "a\r\nb\n\x00\xff")
}

func notFound(t *testing.T, o remote.Objects) {
	wantNone(t, o, "v1/default/ab/none")
	put(t, o, "v1/default/ab/one", "1")
	wantNone(t, o, "v1/default/ab/none")
	wantNone(t, o, "v1/default/ab/on")
	wantNone(t, o, "v1/default/ab/one1")
	wantNone(t, o, "v1/other/ab/one")
}

// limit: what is as large as the limit is read, what is larger is not.
func limit(t *testing.T, o remote.Objects) {
	for _, n := range []int{1, 100, 1 << 20} {
		name := fmt.Sprintf("v1/default/%d", n)
		put(t, o, name, bytesOf(n))
		for _, l := range []int64{int64(n), int64(n) + 1} {
			if got, err := o.Get(t.Context(), name, l); err != nil || string(got) != bytesOf(n) {
				t.Errorf("%d bytes, limit %d: %d bytes, %v", n, l, len(got), err)
			}
		}
		for _, l := range []int64{0, int64(n) - 1} {
			if got, err := o.Get(t.Context(), name, l); !errors.Is(err, remote.ErrTooLarge) || got != nil {
				t.Errorf("%d bytes, limit %d: %d bytes, %v; want ErrTooLarge", n, l, len(got), err)
			}
		}
	}
	if _, err := o.Get(t.Context(), "v1/default/none", 0); !errors.Is(err, remote.ErrNotFound) {
		t.Errorf("none, limit 0: %v, want ErrNotFound", err)
	}
}

// replace: the last one counts, shorter or longer.
func replace(t *testing.T, o remote.Objects) {
	for _, content := range []string{"one", "", "another one", "two", "two"} {
		put(t, o, "v1/default/x", content)
		want(t, o, "v1/default/x", content)
	}
}

// once: what is there stays, unless it may be replaced; what was deleted is not there.
func once(t *testing.T, o remote.Objects, can bool) {
	ctx, name := t.Context(), "v1/default/x"
	if err := o.Put(ctx, name, []byte("one"), false); err != nil {
		t.Fatalf("put where nothing is: %v", err)
	}
	want(t, o, name, "one")
	err := o.Put(ctx, name, []byte("two"), false)
	if !can {
		if err != nil {
			t.Fatalf("put: %v", err)
		}
		want(t, o, name, "two")
		return
	}
	if !errors.Is(err, remote.ErrExists) {
		t.Fatalf("put where something is: %v, want ErrExists", err)
	}
	want(t, o, name, "one")
	put(t, o, name, "three")
	want(t, o, name, "three")
	if err := o.Delete(ctx, name); err != nil {
		t.Fatal(err)
	}
	if err := o.Put(ctx, name, []byte("four"), false); err != nil {
		t.Fatalf("put where nothing is any more: %v", err)
	}
	want(t, o, name, "four")
}

// onceOfMany: of many that put at one time one does.
func onceOfMany(t *testing.T, o remote.Objects, can bool) {
	if !can {
		t.Log("the engine cannot do it: nothing to check")
		return
	}
	for round := range 3 {
		name := fmt.Sprintf("v1/default/%d", round)
		var winner atomic.Pointer[string]
		together(12, func(i int) {
			content := strings.Repeat(string(rune('a'+i)), 20_000)
			switch err := o.Put(context.Background(), name, []byte(content), false); {
			case err == nil && winner.Swap(&content) != nil:
				t.Errorf("%s: two puts did", name)
			case err != nil && !errors.Is(err, remote.ErrExists):
				t.Errorf("%s: %v", name, err)
			}
		})
		if winner.Load() == nil {
			t.Fatalf("%s: no put did", name)
		}
		want(t, o, name, *winner.Load())
	}
}

func deleted(t *testing.T, o remote.Objects) {
	ctx := t.Context()
	if err := o.Delete(ctx, "v1/default/none"); err != nil {
		t.Errorf("delete of nothing: %v", err)
	}
	put(t, o, "v1/default/a", "a")
	put(t, o, "v1/default/b", "b")
	for range 2 {
		if err := o.Delete(ctx, "v1/default/a"); err != nil {
			t.Fatal(err)
		}
		wantNone(t, o, "v1/default/a")
	}
	want(t, o, "v1/default/b", "b")
}

// names: all that a name may be, and each is one of its own.
func names(t *testing.T, o remote.Objects) {
	long := strings.Repeat(strings.Repeat("x", 99)+"/", 5)
	all := []string{
		"a", "0", "-", "_", "a.b", "a-b", "a_b", "ab", "..a", ".a", "a..", "a.", "1/0", "v1/te.am_1-x/ab/0", "v1/te.am_1-x/ab/00",
		long + "123456789012", long + "123456789013",
	}
	for _, name := range all {
		put(t, o, name, "content of "+name)
	}
	for _, name := range all {
		want(t, o, name, "content of "+name)
	}
}

// bytesAreOwned: what a caller does to what it put or got changes nothing.
func bytesAreOwned(t *testing.T, o remote.Objects) {
	b := []byte("content")
	if err := o.Put(t.Context(), "v1/default/x", b, true); err != nil {
		t.Fatal(err)
	}
	if string(b) != "content" {
		t.Error("put changed what it was given")
	}
	clear(b)
	got, err := o.Get(t.Context(), "v1/default/x", plenty)
	if err != nil {
		t.Fatal(err)
	}
	clear(got)
	want(t, o, "v1/default/x", "content")
}

// wholeObjects: readers see one of those that are put, whole.
func wholeObjects(t *testing.T, o remote.Objects) {
	const name = "v1/default/x"
	content := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, 100_000+i) }
	if err := o.Put(t.Context(), name, content(0), true); err != nil {
		t.Fatal(err)
	}
	together(8, func(i int) {
		for range 10 {
			if i%2 == 0 {
				if err := o.Put(context.Background(), name, content(i), true); err != nil {
					t.Errorf("put: %v", err)
				}
				continue
			}
			got, err := o.Get(context.Background(), name, plenty)
			if err != nil || len(got) == 0 || !bytes.Equal(got, content(int(got[0]-'a'))) {
				t.Errorf("get: %d bytes, %v: not one of those that were put", len(got), err)
			}
		}
	})
}

// cancelled: with a context that has ended nothing is done, and the error is the context's.
func cancelled(t *testing.T, o remote.Objects, lists bool) {
	put(t, o, "v1/default/x", "x")
	past, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ctx := range []context.Context{over, past} {
		errs := make(map[string]error)
		_, errs["get"] = o.Get(ctx, "v1/default/x", plenty)
		errs["put"] = o.Put(ctx, "v1/default/x", []byte("y"), true)
		errs["put of another"] = o.Put(ctx, "v1/default/y", []byte("y"), false)
		errs["delete"] = o.Delete(ctx, "v1/default/x")
		if lists {
			for _, err := range o.List(ctx, "v1/") {
				errs["list"] = err
			}
			if errs["list"] == nil {
				t.Error("list: no error")
			}
		}
		for op, err := range errs {
			if !errors.Is(err, ctx.Err()) {
				t.Errorf("%s: %v, want %v", op, err, ctx.Err())
			}
		}
	}
	want(t, o, "v1/default/x", "x")
	wantNone(t, o, "v1/default/y")
}

// listed returns what List yields, by name.
func listed(t *testing.T, o remote.Objects, prefix string) map[string]remote.Object {
	t.Helper()
	all := make(map[string]remote.Object)
	for one, err := range o.List(t.Context(), prefix) {
		if err != nil {
			t.Fatalf("list %s: %v", prefix, err)
		}
		if _, twice := all[one.Name]; twice {
			t.Errorf("list %s: %s twice", prefix, one.Name)
		}
		all[one.Name] = one
	}
	return all
}

// list: all whose names begin so, wherever the prefix ends, with their sizes.
func list(t *testing.T, o remote.Objects, can bool) {
	if !can {
		for _, err := range o.List(t.Context(), "v1/") {
			if !errors.Is(err, remote.ErrUnsupported) {
				t.Errorf("list: %v, want ErrUnsupported", err)
			}
		}
		return
	}
	if got := listed(t, o, "v1/"); len(got) > 0 {
		t.Fatalf("an engine that is empty has %v", got)
	}
	start := time.Now()
	sizes := map[string]int{
		"v1/a/00/one": 0, "v1/a/00/two": 1, "v1/a/01/one": 2, "v1/a/m/x": 3, "v1/ab/00/one": 4, "v1/a_b/00/one": 5, "v2/a/00/one": 6, "v10/a": 7,
	}
	for name, n := range sizes {
		put(t, o, name, bytesOf(n))
	}
	for _, prefix := range []string{"v1/a/", "v1/a/0", "v1/a/00/", "v1/a", "v1/", "v1", "v2/", "v3/", "v1/a/00/one", "v1/a_b/"} {
		got := listed(t, o, prefix)
		for name, n := range sizes {
			one, there := got[name]
			if there != strings.HasPrefix(name, prefix) {
				t.Errorf("list %q has %s: %v", prefix, name, there)
			}
			if there && one.Size != int64(n) {
				t.Errorf("%s: %d bytes, want %d", name, one.Size, n)
			}
			if m := one.Modified; !m.IsZero() && (m.Before(start.Add(-time.Hour)) || m.After(time.Now().Add(time.Hour))) {
				t.Errorf("%s: modified %v", name, m)
			}
			delete(got, name)
		}
		if len(got) > 0 {
			t.Errorf("list %q has what was not put: %v", prefix, got)
		}
	}
	if err := o.Delete(t.Context(), "v1/a/00/one"); err != nil {
		t.Fatal(err)
	}
	if got := listed(t, o, "v1/a/00/"); len(got) != 1 {
		t.Errorf("after a deletion: %v", got)
	}
	n := 0
	for range o.List(t.Context(), "v1/") {
		n++
		break
	}
	if n != 1 {
		t.Errorf("a caller that stops saw %d", n)
	}
}

// listMany: more than an engine answers at once (S3: 1,000).
func listMany(t *testing.T, o remote.Objects, can bool) {
	if !can {
		t.Log("the engine cannot do it: nothing to check")
		return
	}
	const all, at = 1050, 15
	together(at, func(i int) {
		for n := i; n < all; n += at {
			if err := o.Put(context.Background(), fmt.Sprintf("v1/default/%02x/%d", n%16, n), []byte("x"), false); err != nil {
				t.Error(err)
			}
		}
	})
	if got := len(listed(t, o, "v1/default/")); got != all {
		t.Errorf("%d of %d are listed", got, all)
	}
	if got := len(listed(t, o, "v1/default/0f/")); got != 65 {
		t.Errorf("%d of 65 are listed", got)
	}
}

// getMany: each name is answered once, with what Get says.
func getMany(t *testing.T, o remote.Objects, m remote.ManyGetter) {
	var asked []string
	for i := range 200 {
		name := fmt.Sprintf("v1/default/%d", i)
		asked = append(asked, name)
		if i%3 > 0 {
			put(t, o, name, bytesOf(i))
		}
	}
	const limit = 150
	inside, answered := false, make(map[string]bool)
	err := m.GetMany(t.Context(), asked, limit, func(name string, b []byte, err error) {
		if inside {
			t.Error("two answers at one time")
		}
		inside = true
		defer func() { inside = false }()
		if answered[name] {
			t.Errorf("%s is answered twice", name)
		}
		answered[name] = true
		var i int
		if _, err := fmt.Sscanf(name, "v1/default/%d", &i); err != nil {
			t.Errorf("answer for %q", name)
		}
		switch {
		case i%3 == 0:
			if !errors.Is(err, remote.ErrNotFound) {
				t.Errorf("%s: %v, want ErrNotFound", name, err)
			}
		case i > limit:
			if !errors.Is(err, remote.ErrTooLarge) || b != nil {
				t.Errorf("%s: %d bytes, %v, want ErrTooLarge", name, len(b), err)
			}
		case err != nil || string(b) != bytesOf(i):
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	})
	if err != nil || len(answered) != len(asked) {
		t.Errorf("%d of %d are answered, %v", len(answered), len(asked), err)
	}
	if err := m.GetMany(t.Context(), nil, limit, func(name string, _ []byte, _ error) { t.Errorf("answer for %q", name) }); err != nil {
		t.Errorf("of nothing: %v", err)
	}
}

// getManyCancelled: it stops, and says so.
func getManyCancelled(t *testing.T, o remote.Objects, m remote.ManyGetter) {
	put(t, o, "v1/default/x", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := m.GetMany(ctx, []string{"v1/default/x"}, plenty, func(_ string, b []byte, err error) {
		if err == nil {
			t.Errorf("%d bytes", len(b))
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's error", err)
	}
}

// together runs f in n goroutines that start at once.
func together(n int, f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}
