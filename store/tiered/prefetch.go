package tiered

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// ManyFetcher is what the Store of a Far offers that fetches many entries in few round trips.
type ManyFetcher interface {
	// GetMany calls got for each key with what Fetch would return, one call at a time.
	GetMany(ctx context.Context, keys []key.Key, got func(k key.Key, e *store.Entry, err error))
}

// prefetchTimeouts is how many times as long as a call the prefetch of a store may take.
const prefetchTimeouts = 20

// Prefetch keeps near what the far stores have of some keys, which is asked for in one go of each
// store that is a ManyFetcher. It returns when that is done, which may take seconds, and how many
// entries came. Its place is in the background, when a program starts whose keys are known.
func (s *Store) Prefetch(ctx context.Context, keys []key.Key) int {
	var came atomic.Int64
	if s.o.ReadOnly {
		return 0
	}
	for _, t := range s.tiers {
		many, ok := t.Store.(ManyFetcher)
		if !ok || t.NoBackfill || ctx.Err() != nil || !t.reads.closed() {
			continue
		}
		if keys = s.notNear(ctx, keys); len(keys) == 0 {
			break
		}
		var failed atomic.Pointer[error] // the last, unless one was answered
		var some atomic.Bool
		limit := prefetchTimeouts * t.Timeout
		_, err := call(s, ctx, limit, func(ctx context.Context) (struct{}, error) {
			many.GetMany(ctx, keys, func(k key.Key, e *store.Entry, err error) {
				switch miss, ok := errors.AsType[*store.MissError](err); {
				case err == nil && e != nil && e.Key == k && e.Recipe != nil && e.Artifact != nil:
					some.Store(true)
					s.count(stats.RemoteHits)
					if _, err := s.Near.Put(ctx, e); err == nil {
						came.Add(1)
					}
				case !answered(err):
					failed.Store(&err)
				case ok && miss.Reason == reason.MissAbsent:
					s.absent.add(question{tier: t.index, sum: k.Sum})
					some.Store(true)
				}
			})
			return struct{}{}, nil
		}, nil)
		if last := failed.Load(); err == nil && last != nil && !some.Load() {
			err = *last
		}
		s.settle(ctx, t, &t.reads, err, limit)
	}
	return int(came.Load())
}

// notNear returns the keys of which nothing is near, each once.
func (s *Store) notNear(ctx context.Context, keys []key.Key) (left []key.Key) {
	seen := make(map[key.Key]bool, len(keys))
	for _, k := range keys {
		if seen[k] {
			continue
		}
		seen[k] = true
		if _, err := s.Near.GetFirst(ctx, k); err != nil {
			left = append(left, k)
		}
	}
	return left
}
