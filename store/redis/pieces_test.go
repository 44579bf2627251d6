package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kernstash/kernstash/internal/servers"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
)

func TestFlow(t *testing.T) {
	t.Parallel()
	remotetest.RunFlow(t, open(t, servers.Redis(t), Options{}), false)
}

// followed is a [store.Flow] that does something after the first bytes.
type followed struct {
	expected, moved int64
	then            func()
}

func (f *followed) Expect(_ context.Context, total int64) error {
	f.expected += total
	return nil
}

func (f *followed) Moved(n int) error {
	if f.moved += int64(n); f.then != nil {
		f.then()
		f.then = nil
	}
	return nil
}

// What is read in pieces is what was put, whatever its size.
func TestPieces(t *testing.T) {
	t.Parallel()
	o := open(t, servers.Redis(t), Options{})
	for _, first := range []string{"k", "\xff"} { // the latter is escaped: one byte more
		for _, size := range []int{1, firstPiece - 2, firstPiece - 1, firstPiece, firstPiece + 1, firstPiece + smallestPiece, 300_000, DefaultMaxSize} {
			name, want := fmt.Sprint("v1/t/", size), content(first, size)
			put(t, o, name, string(want))
			for _, limit := range []int{size, size + 1, 1 << 40} {
				f := new(followed)
				b, err := o.Get(store.WithFlow(within(t), f), name, int64(limit))
				if err != nil || !bytes.Equal(b, want) {
					t.Errorf("%d bytes, limit %d: %d bytes, %v", size, limit, len(b), err)
				}
				if f.expected != f.moved || f.moved < int64(size) || f.moved > int64(size)+1 {
					t.Errorf("%d bytes, limit %d: %d are expected, and %d moved", size, limit, f.expected, f.moved)
				}
			}
			f := new(followed)
			if b, err := o.Get(store.WithFlow(within(t), f), name, int64(size-1)); !errors.Is(err, remote.ErrTooLarge) || b != nil {
				t.Errorf("%d bytes, limit one less: %d bytes, %v", size, len(b), err)
			}
			if f.moved > firstPiece {
				t.Errorf("%d bytes, limit one less: %d are read", size, f.moved)
			}
		}
	}
	if b, err := o.Get(store.WithFlow(within(t), new(followed)), "v1/t/none", 100); !errors.Is(err, remote.ErrNotFound) || b != nil {
		t.Errorf("what is not there: %q, %v", b, err)
	}
}

// content returns bytes of which no two stretches are equal.
func content(first string, size int) []byte {
	b := append(make([]byte, 0, size+16), first...)
	for i := 0; len(b) < size; i++ {
		b = fmt.Append(b, i, " ")
	}
	return b[:size]
}

// An object that is replaced, or removed, while it is read is never read half of each.
func TestReplacedWhileRead(t *testing.T) {
	t.Parallel()
	o := open(t, servers.Redis(t), Options{})
	const size = 300_000
	was := content("was ", size)
	for name, now := range map[string][]byte{
		"other": content("is ", size), "longer": content("is ", 2*size), "shorter": content("is ", size/2), "small": content("is ", 100),
		"longer, the same beginning": content("was ", 2*size), "shorter, the same beginning": content("was ", size/2), "gone": nil,
	} {
		t.Run(name, func(t *testing.T) {
			object := "v1/t/" + name
			put(t, o, object, string(was))
			f := &followed{then: func() {
				if now == nil {
					if err := o.Delete(within(t), object); err != nil {
						t.Error(err)
					}
					return
				}
				put(t, o, object, string(now))
			}}
			b, err := o.Get(store.WithFlow(within(t), f), object, DefaultMaxSize)
			if now == nil {
				if !errors.Is(err, remote.ErrNotFound) {
					t.Errorf("%d bytes, %v", len(b), err)
				}
				return
			}
			if err != nil || !bytes.Equal(b, now) {
				t.Errorf("%d bytes, %v", len(b), err)
			}
		})
	}
}
