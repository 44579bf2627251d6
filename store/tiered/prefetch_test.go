package tiered_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/store/tiered"
)

// Rule 10: what a program used before comes in one round trip.
func TestPrefetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var trips atomic.Int64
		var hangs atomic.Bool
		m := &remotetest.Memory{Fault: func(ctx context.Context, op remotetest.Op, name string) error {
			switch {
			case hangs.Load():
				return remotetest.Hang(ctx, op, name)
			case op == remotetest.GetMany:
				trips.Add(1)
				return remotetest.Slow(10*time.Millisecond)(ctx, op, name)
			}
			return nil
		}}
		s := remote.New(m, remote.Options{})
		var keys []key.Key
		for i := range 50 {
			e := storetest.New(t, strconv.Itoa(i), 500)
			if _, err := s.Put(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, e.Key, e.Key)
		}
		absent := storetest.New(t, "absent", 1).Key
		all := append(keys, absent)
		o := tiered.Options{Far: []tiered.Far{{Name: "far", Store: s}}}
		a := newMachine(t, o)
		begin := time.Now()
		if n := a.Prefetch(t.Context(), all); n != 50 || trips.Load() != 1 || time.Since(begin) != 10*time.Millisecond {
			t.Errorf("%d entries, %d round trips, %v", n, trips.Load(), time.Since(begin))
		}
		for _, k := range keys {
			if e, err := a.near.Get(t.Context(), k); err != nil || e.Artifact.Size() != 500 {
				t.Errorf("near: %v", err)
			}
		}
		if n := a.Prefetch(t.Context(), keys); n != 0 || trips.Load() != 1 {
			t.Errorf("again: %d entries, %d round trips", n, trips.Load())
		}

		// One that hangs does so for a bounded time, and is given up.
		hangs.Store(true)
		b := newMachine(t, o)
		begin = time.Now()
		if n := b.Prefetch(t.Context(), keys); n != 0 || time.Since(begin) != 10*time.Second {
			t.Errorf("%d entries of one that hangs, %v", n, time.Since(begin))
		}
		begin = time.Now()
		miss(t, b, keys[0], reason.MissRemote)
		if n := b.Prefetch(t.Context(), keys); n != 0 || time.Since(begin) != 0 {
			t.Errorf("%d entries of one that is given up, %v", n, time.Since(begin))
		}
	})
}
