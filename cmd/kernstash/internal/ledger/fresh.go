package ledger

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/store/disk"
)

// bucketFresh is place → when: of entries that were built, or first heard of, since somebody last looked at them. An index
// from before there was one has none.
var bucketFresh = []byte("fresh")

// maxFresh bounds what is noted of places, where nobody asks.
const maxFresh = 5000

// freshAge is how long an entry may take to be stored after it was missed.
const freshAge = time.Hour

func markFresh(tx *bolt.Tx, p records.Place, at time.Time) error {
	b, err := tx.CreateBucketIfNotExists(bucketFresh)
	if err != nil {
		return err
	}
	return b.Put(p[:], ascending(at.Unix()))
}

// Fresh merges what was recorded, and calls f with the places of entries that may be new to it. f returns those that it found; those
// that it did not find come again for an hour. It calls f with none where there is no index, or others have it.
func Fresh(ctx context.Context, d *disk.Store, f func(all []records.Place) (found map[records.Place]bool, err error)) error {
	called := false
	err := changed(d, func(l *Ledger) error {
		if err := l.merge(ctx); err != nil {
			return err
		}
		var all []records.Place
		old := make(map[records.Place]bool)
		err := l.update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(bucketFresh)
			if err != nil {
				return err
			}
			return b.ForEach(func(k, v []byte) error {
				if len(k) != len(records.Place{}) || len(v) != 8 {
					return errBroken
				}
				p := records.Place(bytes.Clone(k))
				at := time.Unix(int64(binary.BigEndian.Uint64(v)^1<<63), 0)
				old[p] = time.Since(at).Abs() > freshAge
				all = append(all, p)
				return nil
			})
		})
		if err != nil {
			return err
		}
		called = true
		found, err := f(all)
		if err != nil || len(all) == 0 {
			return err
		}
		return l.update(func(tx *bolt.Tx) error {
			b := tx.Bucket(bucketFresh)
			for _, p := range all {
				if found[p] || old[p] {
					if err := b.Delete(p[:]); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
	if called {
		return err
	}
	_, err = f(nil)
	return err
}
