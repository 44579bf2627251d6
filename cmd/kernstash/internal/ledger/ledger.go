// Package ledger merges what processes recorded into one index beside the cache, and answers from it: which applications
// used which entry, what was missed and why, and totals per day. The index is derived from the records: one that is
// damaged is made anew, and what it says of entries that are not there is mended when somebody lists them.
package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk"
)

// version is that of the index. One of another version is made anew.
const version = "2"

// The buckets of the index.
var (
	bucketMeta    = []byte("meta")    // version → version
	bucketEntries = []byte("entries") // id of a place → Entry
	bucketAbsent  = []byte("absent")  // time, id: of entries that are not in the cache, the oldest first
	bucketApps    = []byte("apps")    // application, 0, order of worth, id
	bucketMisses  = []byte("misses")  // sequence → Missed
	bucketDays    = []byte("days")    // date → Sums
	bucketTotals  = []byte("totals")  // application → Sums
	bucketMerged  = []byte("merged")  // name of a file → when
)

// Order is what entries are sorted by, the most first.
type Order string

// The orders.
const (
	Saved Order = "saved"
	Hits  Order = "hits"
	Used  Order = "used"
)

var orders = []Order{Saved, Hits, Used}

func (o Order) bucket() []byte { return []byte("by " + string(o)) }

// Ledger is the index of one cache. One without a cache is empty. It is for one goroutine.
type Ledger struct {
	d  *disk.Store
	db *bolt.DB // nil: there is nothing

	anew bool // the index goes where it is found to be damaged
	lost bool // the library has panicked: it is not called any more
	read int  // entries since release

	hurried bool    // a large index is believed
	waiting waiting // see Look
}

// maxRead is how many entries are read before their pages are given back: the system maps some fifty KiB with each.
const maxRead = 256

// pace is called for each entry that is read.
func (l *Ledger) pace(tx *bolt.Tx) {
	if l.read++; l.read >= maxRead {
		l.read = 0
		release(tx)
	}
}

// Who reads the index shares it with others, for as long as it takes to print; who merges has it alone, for moments, and goes
// without where others read.
const (
	readWait  = 10 * time.Second
	mergeWait = 200 * time.Millisecond
)

// maxIndex bounds the file of the index, which is made anew where it is larger.
const maxIndex = 2 << 30

// Open merges what was recorded since the last time, unless somebody has the index, and returns the index. Where settings keep
// the cache from being written nothing is merged. The caller closes it.
func Open(ctx context.Context, c cli.Cache) (*Ledger, error) {
	l := &Ledger{d: c.Disk, anew: c.Settings.Mode != settings.ModeReadOnly}
	said := ""
	merge := func() {
		err := Merge(ctx, c.Disk)
		known := errors.Is(err, bolterrors.ErrTimeout) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
		if err != nil && !known && err.Error() != said {
			said = err.Error()
			fmt.Fprintf(c.Err, "kernstash: not merged: %s\n", human.Printable(said, false))
		}
	}
	if l.anew && c.Disk.HasRecords() { // else it would wait for who reads the index, for nothing
		merge()
	}
	err := l.open(true, readWait)
	if l.anew && broken(err) {
		merge()
		err = l.open(true, readWait)
	}
	if errors.Is(err, errEmpty) || errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	return l, nil
}

// Merge merges what was recorded since the last time.
func Merge(ctx context.Context, d *disk.Store) error {
	return changed(d, func(l *Ledger) error { return l.merge(ctx) })
}

// changed calls f with the index, to be changed. One that is damaged is made anew. Where there is no cache it does nothing.
func changed(d *disk.Store, f func(*Ledger) error) error {
	if st := d.Status(); !st.On || !st.Exists {
		return nil
	}
	if _, err := os.Lstat(d.RecordsIndex()); errors.Is(err, fs.ErrNotExist) && !d.HasRecords() {
		return nil
	}
	l := &Ledger{d: d}
	try := func() error {
		err := l.open(false, mergeWait)
		if err == nil {
			if err = l.unsum(); err == nil {
				err = f(l)
			}
			if !l.lost {
				l.putSum()
			}
			l.Close()
		}
		return err
	}
	err := try()
	if broken(err) {
		_ = os.RemoveAll(d.RecordsIndex())
		_ = l.unsum()
		l.lost = false
		err = try()
	}
	if errors.Is(err, fs.ErrNotExist) { // nothing was ever stored there
		return nil
	}
	if err != nil {
		return fmt.Errorf("records: %w", err)
	}
	return nil
}

// errBroken is wrapped where the index holds what it cannot.
var (
	errBroken = errors.New("the index is damaged")
	errEmpty  = errors.New("the index is empty")
)

func broken(err error) bool {
	return errors.Is(err, errBroken) || errors.Is(err, errEmpty)
}

func (l *Ledger) open(readOnly bool, wait time.Duration) error {
	path := l.d.RecordsIndex()
	info, err := os.Lstat(path)
	switch {
	case err == nil && (!info.Mode().IsRegular() || info.Size() > maxIndex):
		return errBroken
	case err == nil && info.Size() == 0 && readOnly:
		return errEmpty
	case err == nil:
		if err := l.checkSum(); err != nil {
			return err
		}
	}
	var failed error
	o := &bolt.Options{Timeout: wait, FreelistType: bolt.FreelistMapType, ReadOnly: readOnly}
	o.OpenFile = func(string, int, os.FileMode) (*os.File, error) { // which follows no link out of the root
		flags := os.O_RDWR | os.O_CREATE
		if readOnly {
			flags = os.O_RDONLY
		}
		var f *os.File
		failed = l.inRoot(func(r *os.Root, rel string) (err error) {
			f, err = r.OpenFile(rel, flags, 0o600)
			return err
		})
		return f, failed
	}
	err = l.guarded(func() (err error) {
		l.db, err = bolt.Open(path, 0o600, o)
		return err
	})
	if err != nil {
		l.db = nil
		_, system := errors.AsType[syscall.Errno](err)
		if failed == nil && !system && !errors.Is(err, bolterrors.ErrTimeout) { // what it holds is no index
			return fmt.Errorf("%w: %w", errBroken, err)
		}
		return cmp.Or(failed, err)
	}
	if err = l.view(checkVersion); errors.Is(err, errEmpty) && !readOnly {
		err = l.update(makeBuckets)
	}
	if err != nil {
		l.Close()
	}
	return err
}

// guarded calls f. What the index's library makes of damage, a panic or a fault, is an error. Its locks may be held
// for ever then.
func (l *Ledger) guarded(f func() error) (err error) {
	if l.lost {
		return errBroken
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			l.lost = true
			err = fmt.Errorf("%w: %v", errBroken, v)
		}
	}()
	return f()
}

func (l *Ledger) view(f func(*bolt.Tx) error) error {
	if l.db == nil {
		return nil
	}
	err := l.guarded(func() error { return l.db.View(f) })
	if errors.Is(err, errBroken) && l.anew { // by the next one that merges
		_ = os.Remove(l.d.RecordsIndex())
		_ = l.unsum()
	}
	return err
}

func (l *Ledger) update(f func(*bolt.Tx) error) error {
	return l.guarded(func() error { return l.db.Update(f) })
}

func makeBuckets(tx *bolt.Tx) error {
	names := [][]byte{bucketMeta, bucketEntries, bucketAbsent, bucketApps, bucketMisses, bucketDays, bucketTotals, bucketMerged}
	for _, o := range orders {
		names = append(names, o.bucket())
	}
	for _, name := range names {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return tx.Bucket(bucketMeta).Put([]byte("version"), []byte(version))
}

func checkVersion(tx *bolt.Tx) error {
	b := tx.Bucket(bucketMeta)
	if b == nil {
		return errEmpty
	}
	if string(b.Get([]byte("version"))) != version {
		return fmt.Errorf("%w: of another version", errBroken)
	}
	return nil
}

// Close gives the index back.
func (l *Ledger) Close() {
	if l.db != nil {
		_ = l.guarded(l.db.Close) // nor is what was lost: its file was removed, and goes with the process
		l.db = nil
	}
}

// Keys returns the keys of the entries that an application used, the most valuable first: those whose builds took
// longest and which were used most. They need not be in the cache.
func Keys(ctx context.Context, c cli.Cache, app string) ([]key.Key, error) {
	l, err := Open(ctx, c)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	var keys []key.Key
	err = l.OfApplication(app, func(e *Entry) bool {
		if !e.Key.Key.IsZero() {
			keys = append(keys, e.Key.Key)
		}
		return ctx.Err() == nil
	})
	return keys, errors.Join(err, ctx.Err())
}

// Names returns the names of applications that are known to have used something, for completion.
func Names(ctx context.Context, a *cli.App) []string {
	c, err := a.OpenCache()
	if err != nil {
		return nil
	}
	defer c.Disk.Close()
	l, err := Open(ctx, c)
	if err != nil {
		return nil
	}
	defer l.Close()
	names, _ := l.Applications()
	return names
}

func unmarshal(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	return nil
}
