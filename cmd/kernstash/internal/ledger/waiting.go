package ledger

import (
	"context"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/records"
)

// maxWaiting bounds the records, in bytes, that Look reads: some 4,000. What is more is merged.
const maxWaiting = 1 << 20

// waiting is what was recorded and is not merged yet.
type waiting struct {
	sums
	misses []Missed // the last one last
	gone   map[records.Place]records.Line
}

// Look returns the index without merging what was recorded since, unless that is much: to merge a record takes some thirty
// times as long as to read it. Days, Totals and Misses include what waits; of a miss that waits Was says only whether the entry had been
// removed. The caller closes the index.
func Look(ctx context.Context, c cli.Cache) (*Ledger, error) {
	l := &Ledger{d: c.Disk, hurried: true}
	if !c.Disk.HasRecords() || l.open(true, mergeWait) != nil {
		return Open(ctx, c)
	}
	// Nobody merges now.
	w := waiting{sums: newSums(), gone: make(map[records.Place]records.Line)}
	size := 0
	err := l.view(func(tx *bolt.Tx) error {
		merged := tx.Bucket(bucketMerged)
		return c.Disk.LookRecords(ctx, func(name string, b []byte) bool {
			b = b[min(mergedTo(merged.Get([]byte(name))), uint64(len(b))):]
			if size += len(b); size > maxWaiting {
				return false
			}
			records.Parse(b, w.add)
			return true
		})
	})
	if err != nil || size > maxWaiting {
		l.Close()
		return Open(ctx, c)
	}
	l.waiting = w
	return l, nil
}

func (w *waiting) add(l records.Line) {
	w.sums.add(&l)
	switch l.Kind {
	case records.Gone:
		w.gone[l.Entry.Place] = l
	case records.Miss:
		m := missedOf(&l)
		if g, ok := w.gone[l.Entry.Place]; ok && !l.Entry.IsZero() {
			m.Was, m.WasAt = g.Reason, g.At.Unix()
			delete(w.gone, l.Entry.Place)
		}
		w.misses = append(w.misses, m)
	}
}

// waitingMisses calls f with the misses that wait, the last one first, until it returns false.
func (l *Ledger) waitingMisses(f func(*Missed) bool) (more bool, err error) {
	oldest := time.Now().Add(-maxAge).Unix()
	for i := len(l.waiting.misses) - 1; i >= 0; i-- {
		m := l.waiting.misses[i]
		if m.At < oldest {
			continue
		}
		if m.Was == "" && !m.Key.IsZero() {
			e, err := l.Of(m.Key.Place)
			if err != nil {
				return false, err
			}
			if e != nil && e.Gone != 0 {
				m.Was, m.WasAt = e.Why, e.Gone
			}
		}
		if !f(&m) {
			return false, nil
		}
	}
	return true, nil
}
