package catalog

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// item is an entry that is to come in a list.
type item struct {
	key    int64
	place  records.Place
	number uint32
	from   *cursor   // nil: it was looked at
	last   time.Time // when it was used, of one that the records know
	passed bool      // it comes elsewhere: by the records, or by its part
}

// cursor is how far a part, or the records, have come.
type cursor struct {
	part  int
	s     *segment
	order []uint32
	next  func() (*ledger.Entry, bool) // of the records
}

// list merges the parts.
type list struct {
	k       *Catalog
	o       Order
	book    *ledger.Ledger
	heap    []item
	now     item
	parts   [disk.Parts]*segment
	failure error
}

func (l *list) Len() int           { return len(l.heap) }
func (l *list) Less(i, j int) bool { return l.heap[i].before(&l.heap[j]) }
func (l *list) Swap(i, j int)      { l.heap[i], l.heap[j] = l.heap[j], l.heap[i] }
func (l *list) Push(x any)         { l.heap = append(l.heap, x.(item)) }
func (l *list) Pop() any {
	last := l.heap[len(l.heap)-1]
	l.heap = l.heap[:len(l.heap)-1]
	return last
}

func (i *item) before(o *item) bool {
	return cmp.Or(cmp.Compare(i.key, o.key), bytes.Compare(i.place[:], o.place[:]), cmp.Compare(i.number, o.number)) < 0
}

// List yields the entries in an order, as they are now. Records, which may be nil, know more of when entries were used than
// the catalog.
func (k *Catalog) List(ctx context.Context, o Order, book *ledger.Ledger) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		l := &list{k: k, o: o, book: book}
		defer l.close()
		if err := l.open(); err != nil {
			yield(store.Info{}, err)
			return
		}
		if o == Used && book != nil {
			next, stop := iter.Pull(func(yield func(*ledger.Entry) bool) {
				if err := book.Each(ledger.Used, yield); err != nil && l.failure == nil {
					l.failure = err
				}
			})
			defer stop()
			l.advance(&cursor{next: next})
		}
		for info, err := range k.d.ListAt(ctx, l.places) {
			if (err != nil || l.take(&info)) && !yield(info, err) {
				return
			}
		}
		if l.failure != nil {
			yield(store.Info{}, l.failure)
		}
	}
}

func (l *list) close() {
	for _, s := range l.parts {
		if s != nil {
			s.f.Close()
		}
	}
}

// open opens all parts.
func (l *list) open() error {
	for part := range l.parts {
		s, err := l.k.segment(part)
		if err != nil {
			return err
		}
		l.parts[part] = s
		order, err := s.order(l.o)
		if err != nil {
			return l.damaged(part, err)
		}
		l.advance(&cursor{part: part, s: s, order: order})
	}
	return l.failure
}

// damaged has a part read anew the next time, if it is damaged.
func (l *list) damaged(part int, err error) error {
	if errors.Is(err, errDamaged) {
		_ = l.k.r.Remove(nameOf(part))
	}
	return fmt.Errorf("catalog %s: %w", nameOf(part), err)
}

// lastOf is when an entry was used last at most, as the records know it, in whole seconds.
func lastOf(e *ledger.Entry) time.Time { return time.Unix(e.Total().Last+1, 0) }

// advance takes the next item of a cursor. Of an entry that the records know, too, the later one is taken.
func (l *list) advance(c *cursor) {
	for l.failure == nil {
		switch {
		case c.next != nil:
			e, ok := c.next()
			if !ok {
				return
			}
			last := lastOf(e)
			used, known, err := l.parts[disk.PartOf(e.Key.Place)].used(e.Key.Place)
			if err != nil {
				l.failure = l.damaged(disk.PartOf(e.Key.Place), err)
				return
			}
			heap.Push(l, item{key: -nanos(last), place: e.Key.Place, from: c, last: last.Add(-time.Second), passed: known && used.After(last)})
			return
		case len(c.order) == 0:
			return
		default:
			f, err := c.s.row(int(c.order[0]))
			if err != nil {
				l.failure = l.damaged(c.part, err)
				return
			}
			c.order = c.order[1:]
			passed := false
			if l.book != nil && (l.o == Used || l.o == Unrecorded) {
				e, err := l.book.Of(f.Place)
				passed = err == nil && e != nil && e.Gone == 0 && (l.o == Unrecorded || !f.Used.After(lastOf(e)))
			}
			heap.Push(l, item{key: l.o.key(&f), place: f.Place, number: f.Number, from: c, passed: passed})
			return
		}
	}
}

// places yields the places of the items. take is called with what is there before the next one.
func (l *list) places(yield func(records.Place) bool) {
	for l.failure == nil && len(l.heap) > 0 {
		l.now = heap.Pop(l).(item)
		if l.now.from != nil {
			l.advance(l.now.from)
		}
		if !l.now.passed && !yield(l.now.place) {
			return
		}
	}
}

// take reports whether an entry at the present place comes now. One that the records know gets the time that they have,
// which may be later than that of its file: that is written now and then.
func (l *list) take(info *store.Info) bool {
	_, number, ok := disk.ParseLocation(info.Location)
	of := disk.Facts{Place: l.now.place, Number: number, Size: info.Size, Cost: info.Cost, Used: info.Accessed}
	recorded := !l.now.last.IsZero()
	switch {
	case errors.Is(info.Bad, store.ErrNotFound) || errors.Is(info.Bad, fs.ErrNotExist):
		if !recorded {
			l.k.note(differing{disk.Facts{Place: l.now.place, Number: l.now.number}, true})
		}
		return false
	case !ok || !recorded && number != l.now.number:
		return false
	case recorded:
		if info.Accessed.Before(l.now.last) {
			info.Accessed = l.now.last
		}
		return true
	}
	at := item{key: l.o.key(&of), place: of.Place, number: number}
	if at.key != l.now.key {
		l.k.note(differing{of, false})
	}
	if len(l.heap) > 0 && at.key != l.now.key && l.heap[0].before(&at) {
		heap.Push(l, at)
		return false
	}
	return true
}

// note notes what differs from an entry, and is to be mended.
func (k *Catalog) note(f differing) {
	if len(k.stale) >= maxStale {
		return
	}
	k.stale[f.Location()] = f
}
