package ledger

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/store/disk"
)

// Use is what an application did with an entry. Times are in seconds since 1970, durations in microseconds.
type Use struct {
	Hits  int64 `json:"hits,omitempty"`
	Saved int64 `json:"saved_us,omitempty"`
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

func (u *Use) add(o Use) {
	u.Hits += o.Hits
	u.Saved += o.Saved
	if u.First == 0 || o.First < u.First {
		u.First = o.First
	}
	u.Last = max(u.Last, o.Last)
}

// SavedTime returns Saved.
func (u *Use) SavedTime() time.Duration { return time.Duration(u.Saved) * time.Microsecond }

// Entry is what is known of an entry, in the cache or not.
type Entry struct {
	Key   records.Entry  `json:"key"`
	Apps  map[string]Use `json:"apps,omitempty"`
	Cost  int64          `json:"cost_us,omitempty"` // of the last build
	Label string         `json:"label,omitempty"`

	// Gone is when it was found to be missing, 0 where it is thought to be there; Why says why, "" is not known.
	Gone int64  `json:"gone,omitempty"`
	Why  string `json:"why,omitempty"`
}

// maxApps bounds the applications of an entry; Others are those over it.
const (
	maxApps = 32
	Others  = "(others)"
)

// Total returns what all applications did with it.
func (e *Entry) Total() (u Use) {
	for _, of := range e.Apps {
		u.add(of)
	}
	return u
}

func (e *Entry) add(app string, u Use) {
	if e.Apps == nil {
		e.Apps = make(map[string]Use)
	}
	if _, known := e.Apps[app]; !known && len(e.Apps) >= maxApps {
		app = Others
	}
	of := e.Apps[app]
	of.add(u)
	e.Apps[app] = of
}

// worth is what the entry saved an application, and what its next build would cost.
func (e *Entry) worth(app string) int64 {
	u := e.Apps[app]
	cost := e.Cost
	if total := e.Total(); cost == 0 && total.Hits > 0 {
		cost = total.Saved / total.Hits
	}
	return u.Saved + cost
}

// descending is a key by which larger numbers come first.
func descending(n int64) []byte { return binary.BigEndian.AppendUint64(nil, ^(uint64(n) ^ 1<<63)) }

func ascending(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)^1<<63) }

func (e *Entry) orderKey(o Order) []byte {
	u := e.Total()
	n := map[Order]int64{Saved: u.Saved, Hits: u.Hits, Used: u.Last}[o]
	return append(descending(n), e.id()...)
}

func (e *Entry) absentKey() []byte { return append(ascending(e.Gone), e.id()...) }

func appPrefix(app string) []byte { return append([]byte(app), 0) }

func (e *Entry) appKey(app string) []byte {
	return append(append(appPrefix(app), descending(e.worth(app))...), e.id()...)
}

// idBytes is the length of what stands for a place in the index.
const idBytes = 16

// idOf returns what stands for a place: short, as it is in every order.
func idOf(p records.Place) []byte {
	sum := sha256.Sum256(p[:])
	return sum[:idBytes]
}

func (e *Entry) id() []byte { return idOf(e.Key.Place) }

// get returns the entry of an id; nil: none is known.
func get(tx *bolt.Tx, id []byte) (*Entry, error) {
	b := tx.Bucket(bucketEntries).Get(id)
	if b == nil {
		return nil, nil
	}
	e := new(Entry)
	if err := unmarshal(b, e); err != nil {
		return nil, err
	}
	if !bytes.Equal(e.id(), id) {
		return nil, errBroken
	}
	return e, nil
}

// orderedAs is an entry's place in an order.
type orderedAs struct{ bucket, key string }

// ordered returns an entry's places in all orders; nil has none.
func (e *Entry) ordered() map[orderedAs]bool {
	if e == nil {
		return nil
	}
	all := make(map[orderedAs]bool)
	add := func(bucket, key []byte) { all[orderedAs{string(bucket), string(key)}] = true }
	if e.Gone != 0 {
		add(bucketAbsent, e.absentKey())
	} else {
		for _, o := range orders {
			add(o.bucket(), e.orderKey(o))
		}
	}
	for app := range e.Apps {
		add(bucketApps, e.appKey(app))
	}
	return all
}

// reorder moves an entry to its places in all orders. What stays where it is is not written.
func reorder(tx *bolt.Tx, before, after map[orderedAs]bool) error {
	for at := range before {
		if !after[at] {
			if err := tx.Bucket([]byte(at.bucket)).Delete([]byte(at.key)); err != nil {
				return err
			}
		}
	}
	for at := range after {
		if !before[at] {
			if err := tx.Bucket([]byte(at.bucket)).Put([]byte(at.key), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// change lets f change the entry of a key, which is new where none is known; nil: nothing is to be known of it.
func change(tx *bolt.Tx, of records.Entry, f func(e *Entry) *Entry) error {
	id := idOf(of.Place)
	e, err := get(tx, id)
	if err != nil {
		return err
	}
	before := e.ordered()
	if e == nil {
		e = &Entry{Key: of}
		if err := markFresh(tx, of.Place, time.Now()); err != nil {
			return err
		}
	}
	if e.Key.Key.IsZero() {
		e.Key = of
	}
	if e = f(e); e == nil {
		return cmp.Or(reorder(tx, before, nil), tx.Bucket(bucketEntries).Delete(id))
	}
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := tx.Bucket(bucketEntries).Put(id, b); err != nil {
		return err
	}
	return reorder(tx, before, e.ordered())
}

// Each calls f with the entries that are thought to be in the cache, in an order, until it returns false.
func (l *Ledger) Each(o Order, f func(*Entry) bool) error {
	return l.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(o.bucket()).Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			l.pace(tx)
			if more, err := visit(tx, k, f); !more || err != nil {
				return err
			}
		}
		return nil
	})
}

// visit calls f with the entry that a key of an order ends with.
func visit(tx *bolt.Tx, key []byte, f func(*Entry) bool) (more bool, err error) {
	if len(key) < idBytes {
		return false, errBroken
	}
	e, err := get(tx, key[len(key)-idBytes:])
	if err != nil || e == nil {
		return err == nil, err
	}
	return f(e), nil
}

// OfApplication calls f with the entries that an application used, the most valuable first, until it returns false. They
// need not be in the cache.
func (l *Ledger) OfApplication(app string, f func(*Entry) bool) error {
	return l.view(func(tx *bolt.Tx) error {
		prefix := appPrefix(app)
		c := tx.Bucket(bucketApps).Cursor()
		for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
			l.pace(tx)
			if more, err := visit(tx, k, f); !more || err != nil {
				return err
			}
		}
		return nil
	})
}

// Applications returns the names of those that used something.
func (l *Ledger) Applications() (names []string, err error) {
	err = l.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketApps).Cursor()
		for k, _ := c.First(); k != nil; {
			name, _, _ := bytes.Cut(k, []byte{0})
			names = append(names, string(name))
			k, _ = c.Seek(append(bytes.Clone(name), 1))
		}
		return nil
	})
	return names, err
}

// Of returns what is known of an entry; nil: nothing.
func (l *Ledger) Of(p records.Place) (e *Entry, err error) {
	err = l.view(func(tx *bolt.Tx) error {
		l.pace(tx)
		e, err = get(tx, idOf(p))
		return err
	})
	return e, err
}

// Mend notes that entries are not in a cache, for a reason that nobody knows. It goes without where others read the index.
func Mend(d *disk.Store, absent []records.Place) {
	if len(absent) == 0 {
		return
	}
	now := time.Now()
	_ = changed(d, func(l *Ledger) error {
		return l.update(func(tx *bolt.Tx) error {
			for _, p := range absent {
				err := change(tx, records.Entry{Place: p}, func(e *Entry) *Entry {
					if e.Gone == 0 {
						e.Gone = now.Unix()
					}
					return e
				})
				if err != nil {
					return err
				}
			}
			return bound(tx, now)
		})
	})
}
