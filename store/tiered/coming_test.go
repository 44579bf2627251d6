package tiered_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/store/tiered"
)

// slowNear is a disk that takes its time to store, and has stored when a look, which found nothing,
// returns.
type slowNear struct {
	*disk.Store
	may, stored chan struct{}
}

func (s *slowNear) Put(ctx context.Context, e *store.Entry) (store.PutResult, error) {
	<-s.may
	defer close(s.stored)
	return s.Store.Put(ctx, e)
}

func (s *slowNear) Get(ctx context.Context, k key.Key) (*store.Entry, error) {
	e, err := s.Store.Get(ctx, k)
	if s.may != nil && err != nil && ctx.Value(storesMeanwhile) != nil {
		close(s.may)
		<-s.stored
	}
	return e, err
}

type contextKey string

const storesMeanwhile contextKey = "stores meanwhile"

// What was found far is found again while it is being stored near, and at the moment when it is:
// nobody asks far once more.
func TestComing(t *testing.T) {
	t.Parallel()
	for _, meanwhile := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFar()
			e := storetest.New(t, "e", 100)
			if _, err := f.Put(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			near := &slowNear{disk.New(disk.Options{Dir: t.TempDir() + "/root"}), make(chan struct{}), make(chan struct{})}
			defer near.Close()
			s := tiered.New(near, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f}}})
			defer s.Close()
			ctx := t.Context()
			for range 2 {
				if got, err := s.Get(ctx, e.Key); err != nil || got.From != "far" {
					t.Fatalf("get: %v, %v", got, err)
				}
				if meanwhile {
					ctx = context.WithValue(ctx, storesMeanwhile, true)
				}
			}
			if n := f.gets.Load(); n != 1 {
				t.Errorf("%d calls, want 1", n)
			}
			select {
			case <-near.may:
			default:
				close(near.may)
			}
			if !s.Flush(time.Now().Add(time.Minute)) {
				t.Error("it is not stored")
			}
			if got, err := s.Get(t.Context(), e.Key); err != nil || got.From != "" {
				t.Errorf("from near: %v, %v", got, err)
			}
		})
	}
}

// Rule 4: what was absent a moment ago is asked for again when a wait for it has ended, whatever
// ended it.
func TestAbsentAfterWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(remotetest.Memory)
		s := remote.New(m, remote.Options{})
		e := storetest.New(t, "e", 100)
		if _, err := m.Acquire(t.Context(), s.LeaseName(e.Key), time.Hour); err != nil {
			t.Fatal(err)
		}
		a := fleet(t, 1, m)[0]
		if _, err := a.Lock(t.Context(), e.Key, time.Second); !errors.Is(err, store.ErrLocked) {
			t.Fatalf("lock: %v", err)
		}
		if _, err := s.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Get(t.Context(), e.Key); err != nil {
			t.Errorf("it came while one waited: %v", err)
		}
	})
}
