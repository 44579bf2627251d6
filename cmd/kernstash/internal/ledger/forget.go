package ledger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"

	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/store/disk"
)

// Forget erases all records of a cache. Entries stay.
func Forget(ctx context.Context, d *disk.Store) error {
	if err := d.TakeRecords(ctx, func(string, []byte) error { return nil }); err != nil {
		return err
	}
	if st := d.Status(); !st.On || !st.Exists {
		return nil
	}
	for _, path := range []string{d.RecordsIndex(), d.RecordsIndex() + sumSuffix} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("forget: %w", err)
		}
	}
	return nil
}

// ForgetApplication erases what is recorded of an application, but for the totals of days, which name none. It returns of how
// many entries and misses that was.
func ForgetApplication(ctx context.Context, d *disk.Store, app string) (entries, misses int, err error) {
	err = changed(d, func(l *Ledger) error {
		if err := l.merge(ctx); err != nil {
			return err
		}
		return l.update(func(tx *bolt.Tx) (err error) {
			if entries, err = forgetEntries(tx, app); err == nil {
				misses, err = forgetMisses(tx, app)
			}
			return cmp.Or(err, tx.Bucket(bucketTotals).Delete([]byte(app)))
		})
	})
	return entries, misses, err
}

func forgetEntries(tx *bolt.Tx, app string) (n int, err error) {
	var all []records.Entry
	prefix := appPrefix(app)
	c := tx.Bucket(bucketApps).Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		if _, err := visit(tx, k, func(e *Entry) bool { all = append(all, e.Key); return true }); err != nil {
			return n, err
		}
	}
	for _, of := range all {
		err := change(tx, of, func(e *Entry) *Entry {
			delete(e.Apps, app)
			if len(e.Apps) == 0 {
				return nil
			}
			return e
		})
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func forgetMisses(tx *bolt.Tx, app string) (n int, err error) {
	b := tx.Bucket(bucketMisses)
	var keys [][]byte
	err = b.ForEach(func(k, v []byte) error {
		var m Missed
		if json.Unmarshal(v, &m) != nil || m.App == app {
			keys = append(keys, bytes.Clone(k))
		}
		return nil
	})
	for _, k := range keys {
		if err == nil {
			err = b.Delete(k)
		}
	}
	return len(keys), err
}
