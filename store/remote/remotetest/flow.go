package remotetest

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
)

// RunFlow checks that an engine tells of the bytes that it gets, how many there are first, and gets none where
// that is refused. puts says that it tells of those that it puts, too.
func RunFlow(t *testing.T, o remote.Objects, puts bool) {
	t.Helper()
	const name, size = "v1/flow", 300_000
	f := new(counted)
	if err := o.Put(store.WithFlow(t.Context(), f), name, bytes.Repeat([]byte("kernel"), size/6), true); err != nil {
		t.Fatal(err)
	}
	if e, m := f.expected.Load(), f.moved.Load(); puts && (e != size || m != size) {
		t.Errorf("of %d bytes that are put %d are expected, and %d moved", size, e, m)
	}
	f = new(counted)
	b, err := o.Get(store.WithFlow(t.Context(), f), name, size)
	if err != nil || len(b) != size {
		t.Fatal(len(b), err)
	}
	if e, m := f.expected.Load(), f.moved.Load(); e != size || m != size {
		t.Errorf("of %d bytes %d are expected, and %d moved", size, e, m)
	}
	f = &counted{refuses: true}
	if _, err := o.Get(store.WithFlow(t.Context(), f), name, size); err == nil || f.moved.Load() != 0 {
		t.Errorf("refused: %d bytes, %v", f.moved.Load(), err)
	}
}

// counted is a [store.Flow].
type counted struct {
	refuses         bool
	expected, moved atomic.Int64
}

func (f *counted) Expect(_ context.Context, total int64) error {
	if f.refuses {
		return errors.New("it is too much")
	}
	f.expected.Add(total)
	return nil
}

func (f *counted) Moved(n int) error {
	f.moved.Add(int64(n))
	return nil
}
