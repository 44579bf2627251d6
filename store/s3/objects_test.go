package s3_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/s3"
)

func TestObjects(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, o *s3.Objects) {
		ctx := within(t)
		const name = "v1/default/ab/abcdef"
		if _, err := o.Get(ctx, name, 10); !errors.Is(err, remote.ErrNotFound) {
			t.Fatalf("what is not there: %v", err)
		}
		if err := o.Delete(ctx, name); err != nil {
			t.Fatalf("delete what is not there: %v", err)
		}
		if err := o.Put(ctx, name, []byte("first"), false); err != nil {
			t.Fatal(err)
		}
		if err := o.Put(ctx, name, []byte("second"), false); !errors.Is(err, remote.ErrExists) {
			t.Fatalf("put what is there: %v", err)
		}
		if b, err := o.Get(ctx, name, 5); string(b) != "first" || err != nil {
			t.Fatalf("%q, %v", b, err)
		}
		if b, err := o.Get(ctx, name, 4); b != nil || !errors.Is(err, remote.ErrTooLarge) {
			t.Fatalf("over the limit: %q, %v", b, err)
		}
		if err := o.Put(ctx, name, []byte("third"), true); err != nil {
			t.Fatal(err)
		}
		if b, err := o.Get(ctx, name, 100); string(b) != "third" || err != nil {
			t.Fatalf("%q, %v", b, err)
		}
		if err := o.Put(ctx, "empty", nil, false); err != nil {
			t.Fatal(err)
		}
		if b, err := o.Get(ctx, "empty", 0); len(b) != 0 || err != nil {
			t.Fatalf("%q, %v", b, err)
		}
		large := bytes.Repeat([]byte("0123456789abcdef"), 3<<16) // 3 MiB
		if err := o.Put(ctx, "large", large, false); err != nil {
			t.Fatal(err)
		}
		if b, err := o.Get(ctx, "large", math.MaxInt64); !bytes.Equal(b, large) || err != nil {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		if err := o.Delete(ctx, name); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Get(ctx, name, 10); !errors.Is(err, remote.ErrNotFound) {
			t.Fatalf("deleted: %v", err)
		}
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, o *s3.Objects) {
		ctx := within(t)
		const pages = 2100 // names: a page has 1000
		var want []string
		var all sync.WaitGroup
		each := make(chan string)
		for range 16 {
			all.Go(func() {
				for name := range each {
					if err := o.Put(ctx, name, []byte(name), false); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for i := range pages {
			name := fmt.Sprintf("v1/default/%02x/%04d", i%256, i)
			want = append(want, name)
			each <- name
		}
		each <- "v1/default2/00/0000"
		each <- "lease/default/00"
		close(each)
		all.Wait()
		var got []string
		for object, err := range o.List(ctx, "v1/default/") {
			if err != nil {
				t.Fatal(err)
			}
			if object.Size != int64(len(object.Name)) || object.Modified.IsZero() {
				t.Errorf("%+v", object)
			}
			got = append(got, object.Name)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for object, err := range o.List(ctx, "v1/default2") {
			if err != nil || object.Name != "v1/default2/00/0000" {
				t.Errorf("%v, %v", object, err)
			}
		}
		for range o.List(ctx, "") {
			break // who stops early leaves nothing behind
		}
		for object, err := range o.List(ctx, "nothing") {
			t.Errorf("%v, %v", object, err)
		}
	})
}

// Many put one name at once: one of them writes.
func TestPutTogether(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, o *s3.Objects) {
		ctx := within(t)
		for round := range 5 {
			var wrote atomic.Int32
			var all sync.WaitGroup
			name := fmt.Sprint("round/", round)
			for i := range 8 {
				all.Go(func() {
					switch err := o.Put(ctx, name, []byte{byte(i)}, false); {
					case err == nil:
						wrote.Add(1)
					case !errors.Is(err, remote.ErrExists):
						t.Error(err)
					}
				})
			}
			all.Wait()
			if wrote.Load() != 1 {
				t.Errorf("%d wrote it", wrote.Load())
			}
		}
	})
}

func TestTrouble(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, o *s3.Objects) {
		ctx := within(t)
		own, err := s3.Keys(o)
		if err != nil {
			t.Fatal(err)
		}
		missing := open(t, "s3://no-such-bucket?endpoint="+s3.Endpoint(o), own)
		var e *s3.Error
		if _, err := missing.Get(ctx, "name", 1); errors.Is(err, remote.ErrNotFound) || !errors.As(err, &e) || e.Code != "NoSuchBucket" {
			t.Errorf("get: %v", err)
		}
		if err := missing.Put(ctx, "name", []byte("b"), false); !errors.As(err, &e) || e.Code != "NoSuchBucket" {
			t.Errorf("put: %v", err)
		}
		for _, err := range missing.List(ctx, "") {
			if errors.Is(err, remote.ErrNotFound) || err == nil {
				t.Errorf("list: %v", err)
			}
		}
	})
}
