package ledger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"runtime/debug"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/store/disk"
)

// Bounds of the index.
const (
	maxAbsent = 10_000 // entries that are not in the cache
	maxMisses = 10_000
	maxAge    = 30 * 24 * time.Hour // of misses
	maxDays   = 366
	maxTotals = 1000 // applications
)

// What an entry was before it was missed.
const (
	NeverSeen = "never seen"
	NotKept   = "seen before, but not kept" // or removed, by 'clear' for instance
)

// Missed is a miss.
type Missed struct {
	Key     records.Entry `json:"key,omitzero"` // zero: it cannot be cached
	At      int64         `json:"at"`           // in seconds since 1970
	App     string        `json:"app"`
	Cost    int64         `json:"cost_us"`
	Label   string        `json:"label,omitempty"`
	Device  string        `json:"device,omitempty"`
	API     string        `json:"api,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Nearest string        `json:"nearest,omitempty"`
	Was     string        `json:"was,omitempty"` // what was known of the entry before: NeverSeen, NotKept, or why it was gone
	WasAt   int64         `json:"was_at,omitempty"`
}

// Sums are totals of what was recorded. Times are in microseconds.
type Sums struct {
	Hits   int64 `json:"hits"`
	Misses int64 `json:"misses"`
	Saved  int64 `json:"saved_us"`
	Spent  int64 `json:"spent_us"` // compiling
}

// SavedTime returns the time that hits saved.
func (s Sums) SavedTime() time.Duration { return time.Duration(s.Saved) * time.Microsecond }

// SpentTime returns the time that misses took to compile.
func (s Sums) SpentTime() time.Duration { return time.Duration(s.Spent) * time.Microsecond }

// Add adds o.
func (s *Sums) Add(o Sums) {
	s.Hits += o.Hits
	s.Misses += o.Misses
	s.Saved += o.Saved
	s.Spent += o.Spent
}

// Day is what happened on a day of local time.
type Day struct {
	Date string `json:"date"`
	Sums
}

// Application is what an application did in all.
type Application struct {
	App string `json:"app"`
	Sums
}

// Bounds of what one transaction merges, in bytes of records: it keeps in memory what it changes, and the system maps many
// pages of a large index with each that is read.
const (
	maxMerged   = 64 << 10
	maxMergedIn = 8 << 10 // an index that is larger than largeIndex
	largeIndex  = 32 << 20
)

// merge merges files of records. Each transaction notes how far it came, so that no line is merged twice; a file that was
// merged is removed.
func (l *Ledger) merge(ctx context.Context) error {
	defer debug.SetGCPercent(debug.SetGCPercent(50)) // less garbage beside what a transaction holds
	there := make(map[string]bool)
	err := l.d.TakeRecords(ctx, func(name string, b []byte) error {
		there[name] = true
		for more := true; more; {
			err := l.update(func(tx *bolt.Tx) error {
				merged := tx.Bucket(bucketMerged)
				at := mergedTo(merged.Get([]byte(name)))
				most := maxMerged
				if tx.Size() > largeIndex {
					most = maxMergedIn
				}
				part := firstLines(b[min(at, uint64(len(b))):], most)
				if more = len(part) > 0; !more {
					return nil
				}
				m := merger{tx: tx, uses: make(map[used]*use), sums: newSums()}
				records.Parse(part, m.add)
				if err := m.end(); err != nil {
					return err
				}
				release(tx)
				return merged.Put([]byte(name), binary.BigEndian.AppendUint64(ascending(time.Now().Unix()), at+uint64(len(part))))
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(there) == 0 {
		return err
	}
	return l.update(func(tx *bolt.Tx) error { // names of files that are not there any more
		c := tx.Bucket(bucketMerged).Cursor()
		old := ascending(time.Now().Add(-24 * time.Hour).Unix())
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if !there[string(k)] && bytes.Compare(v, old) < 0 {
				if err := c.Delete(); err != nil {
					return err
				}
			}
		}
		if b := tx.Bucket(bucketFresh); b != nil && b.Inspect().KeyN > maxFresh {
			return tx.DeleteBucket(bucketFresh) // package catalog reads the parts that they are in
		}
		return nil
	})
}

// mergedTo returns how many bytes of a file were merged, by what the index says of its name.
func mergedTo(v []byte) uint64 {
	if len(v) < 16 {
		return 0
	}
	return binary.BigEndian.Uint64(v[8:])
}

// firstLines returns the whole lines that b begins with, up to most bytes; of a longer line it returns all.
func firstLines(b []byte, most int) []byte {
	if len(b) <= most {
		return b
	}
	if at := bytes.LastIndexByte(b[:most], '\n'); at >= 0 {
		return b[:at+1]
	}
	if at := bytes.IndexByte(b, '\n'); at >= 0 {
		return b[:at+1]
	}
	return b
}

// used is an application's use of an entry.
type used struct {
	of  records.Entry
	app string
}

type use struct {
	Use
	label string
}

// merger merges the lines of one file. Uses of entries are added up first.
type merger struct {
	tx   *bolt.Tx
	uses map[used]*use
	sums sums
	err  error
}

// sums are totals by date and by application.
type sums struct{ days, apps map[string]*Sums }

func newSums() sums { return sums{make(map[string]*Sums), make(map[string]*Sums)} }

// add adds a line to the totals of its day and application.
func (t *sums) add(l *records.Line) {
	var s Sums
	switch l.Kind {
	case records.Hits:
		s = Sums{Hits: l.Hits, Saved: l.Saved.Microseconds()}
	case records.Miss:
		s = Sums{Misses: 1, Spent: l.Cost.Microseconds()}
	default:
		return
	}
	add := func(to map[string]*Sums, name string) {
		if to[name] == nil {
			to[name] = new(Sums)
		}
		to[name].Add(s)
	}
	add(t.days, dateOf(l.At))
	add(t.apps, applicationOf(l))
}

// applicationOf returns what an application is called that said no name.
func applicationOf(l *records.Line) string { return cmp.Or(l.App, "?") }

func dateOf(t time.Time) string { return t.Local().Format(time.DateOnly) }

func (m *merger) add(l records.Line) {
	if m.err != nil {
		return
	}
	l.App = applicationOf(&l)
	m.sums.add(&l)
	u := Use{First: l.At.Unix(), Last: l.At.Unix()}
	switch l.Kind {
	case records.Hits:
		u.Hits, u.Saved, u.First = l.Hits, l.Saved.Microseconds(), l.Since.Unix()
		m.use(l, u)
	case records.Miss:
		m.err = m.miss(l)
		if !l.Entry.IsZero() {
			m.use(l, u)
		}
	case records.Gone:
		if m.err = m.flush(); m.err == nil { // what was used before it went
			m.err = change(m.tx, l.Entry, func(e *Entry) *Entry { e.Gone, e.Why = l.At.Unix(), l.Reason; return e })
		}
	}
}

func (m *merger) use(l records.Line, u Use) {
	k := used{l.Entry, l.App}
	if m.uses[k] == nil {
		m.uses[k] = &use{label: l.Label}
	}
	m.uses[k].add(u)
}

// flush writes the uses that were added up.
func (m *merger) flush() error {
	n := 0
	for k, u := range m.uses {
		if n++; n%4 == 0 {
			release(m.tx)
		}
		err := change(m.tx, k.of, func(e *Entry) *Entry {
			e.add(k.app, u.Use)
			e.Label = cmp.Or(e.Label, u.label)
			if u.Last >= e.Gone {
				e.Gone, e.Why = 0, ""
			}
			return e
		})
		if err != nil {
			return err
		}
	}
	clear(m.uses)
	return nil
}

// missedOf returns a miss without what was known of the entry before.
func missedOf(l *records.Line) Missed {
	return Missed{
		Key: l.Entry, At: l.At.Unix(), App: applicationOf(l), Cost: l.Cost.Microseconds(), Label: l.Label, Device: l.Device, API: l.API,
		Reason: l.Reason, Nearest: l.Nearest,
	}
}

// miss keeps a miss, with what was known of the entry before.
func (m *merger) miss(l records.Line) error {
	of := missedOf(&l)
	if !l.Entry.IsZero() {
		if err := m.flush(); err != nil {
			return err
		}
		err := change(m.tx, l.Entry, func(e *Entry) *Entry {
			switch {
			case e.Apps == nil && e.Gone == 0:
				of.Was = NeverSeen
			case e.Gone != 0 && e.Why != "":
				of.Was, of.WasAt = e.Why, e.Gone
			default:
				of.Was = NotKept
			}
			e.Gone, e.Why = 0, "" // it is about to be stored
			e.Cost = max(of.Cost, 0)
			if l.Label != "" {
				e.Label = l.Label
			}
			return e
		})
		if err == nil {
			err = markFresh(m.tx, l.Entry.Place, l.At)
		}
		if err != nil {
			return err
		}
	}
	b, err := json.Marshal(of)
	if err != nil {
		return err
	}
	misses := m.tx.Bucket(bucketMisses)
	n, err := misses.NextSequence()
	if err != nil {
		return err
	}
	return misses.Put(binary.BigEndian.AppendUint64(nil, n), b)
}

func (m *merger) end() error {
	if m.err == nil {
		m.err = m.flush()
	}
	m.total(bucketDays, m.sums.days, math.MaxInt)
	m.total(bucketTotals, m.sums.apps, maxTotals)
	if m.err != nil {
		return m.err
	}
	return bound(m.tx, time.Now())
}

// total adds to the totals in a bucket. Names over most are others.
func (m *merger) total(bucket []byte, of map[string]*Sums, most int) {
	b := m.tx.Bucket(bucket)
	names := b.Inspect().KeyN
	for name, more := range of {
		if m.err != nil {
			return
		}
		var s Sums
		old := b.Get([]byte(name))
		if old == nil && names >= most {
			name = Others
			old = b.Get([]byte(name))
		}
		if old == nil {
			names++
		} else if m.err = unmarshal(old, &s); m.err != nil {
			return
		}
		s.Add(*more)
		var text []byte
		if text, m.err = json.Marshal(s); m.err == nil {
			m.err = b.Put([]byte(name), text)
		}
	}
}

// bound removes what is over the bounds.
func bound(tx *bolt.Tx, now time.Time) error {
	if err := boundDays(tx.Bucket(bucketDays), now); err != nil {
		return err
	}
	oldest := now.Add(-maxAge).Unix()
	err := trim(tx.Bucket(bucketMisses), maxMisses, func(b []byte) bool {
		var m Missed
		return json.Unmarshal(b, &m) != nil || m.At < oldest
	})
	if err != nil {
		return err
	}
	absent := tx.Bucket(bucketAbsent)
	for over := absent.Inspect().KeyN - maxAbsent; over > 0; over-- {
		k, _ := absent.Cursor().First()
		_, err := visit(tx, bytes.Clone(k), func(e *Entry) bool {
			err = change(tx, e.Key, func(*Entry) *Entry { return nil })
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// kept reports whether a day is of the last year.
func kept(date string, now time.Time) bool {
	return date >= dateOf(now.AddDate(0, 0, 1-maxDays)) && date <= dateOf(now.AddDate(0, 0, 1))
}

// boundDays removes days that are not of the last year: old ones, and those of a clock that was wrong.
func boundDays(b *bolt.Bucket, now time.Time) error {
	var over [][]byte
	err := b.ForEach(func(k, _ []byte) error {
		if !kept(string(k), now) {
			over = append(over, bytes.Clone(k))
		}
		return nil
	})
	for _, k := range over {
		if err == nil {
			err = b.Delete(k)
		}
	}
	return err
}

// trim removes the first of a bucket: those over most, and those that are old.
func trim(b *bolt.Bucket, most int, old func(v []byte) bool) error {
	over := b.Inspect().KeyN - most
	c := b.Cursor()
	for k, v := c.First(); k != nil && (over > 0 || old != nil && old(v)); k, v = c.First() {
		over--
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return nil
}

// Misses calls f with all misses, the last one first, until it returns false.
func (l *Ledger) Misses(f func(*Missed) bool) error {
	if more, err := l.waitingMisses(f); !more || err != nil {
		return err
	}
	return l.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketMisses).Cursor()
		for k, v := c.Last(); k != nil; k, v = c.Prev() {
			var m Missed
			if err := unmarshal(v, &m); err != nil {
				return err
			}
			if !f(&m) {
				break
			}
		}
		return nil
	})
}

// Days returns what happened on each day of a year on which anything did, the first one first.
func (l *Ledger) Days() (days []Day, err error) {
	all, err := l.sums(bucketDays, l.waiting.days)
	now := time.Now()
	for date, s := range all {
		if kept(date, now) {
			days = append(days, Day{date, *s})
		}
	}
	slices.SortFunc(days, func(a, b Day) int { return cmp.Compare(a.Date, b.Date) })
	return days, err
}

// Totals returns what each application did in all, who saved most first.
func (l *Ledger) Totals() (all []Application, err error) {
	of, err := l.sums(bucketTotals, l.waiting.apps)
	for app, s := range of {
		all = append(all, Application{app, *s})
	}
	slices.SortFunc(all, func(a, b Application) int { return cmp.Or(cmp.Compare(b.Saved, a.Saved), cmp.Compare(a.App, b.App)) })
	return all, err
}

// sums returns the totals of a bucket, and of what waits.
func (l *Ledger) sums(bucket []byte, waiting map[string]*Sums) (map[string]*Sums, error) {
	all := make(map[string]*Sums)
	err := l.view(func(tx *bolt.Tx) error {
		return tx.Bucket(bucket).ForEach(func(k, v []byte) error {
			s := new(Sums)
			err := unmarshal(v, s)
			all[string(k)] = s
			return err
		})
	})
	for name, more := range waiting {
		if all[name] == nil {
			all[name] = new(Sums)
		}
		all[name].Add(*more)
	}
	return all, err
}

// ResetTotals sets the totals of days and applications to zero.
func ResetTotals(ctx context.Context, d *disk.Store) error {
	return changed(d, func(l *Ledger) error {
		if err := l.merge(ctx); err != nil {
			return err
		}
		return l.update(func(tx *bolt.Tx) error {
			for _, name := range [][]byte{bucketDays, bucketTotals} {
				if err := tx.DeleteBucket(name); err != nil {
					return err
				}
			}
			return makeBuckets(tx)
		})
	})
}
