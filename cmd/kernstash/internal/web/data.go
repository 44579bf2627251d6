package web

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/why"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/disk/evict"
)

// Bounds of what is kept in memory.
const (
	maxPrograms = 100_000 // more are one together
	maxPlaces   = 20      // entries that are named of a program
	maxNext     = 1000    // entries that go next

	bookAge  = 5 * time.Second // what is recorded is read anew then
	spaceAge = time.Minute     // all entries are looked at anew then
)

// What stands for entries that have no such name.
const (
	nobody = "(not recorded)"
	others = "(others)"
)

// data is what pages show. Reading all entries of a large cache takes seconds, so pages show the last time that was done, and what
// is known by now while it is done for the first time.
type data struct {
	ctx   context.Context
	c     cli.Cache
	walks sync.WaitGroup

	reading sync.Mutex // what is recorded: one does

	mu      sync.Mutex
	book    *book
	walking bool
	space   *space
}

func newData(ctx context.Context, c cli.Cache) *data { return &data{ctx: ctx, c: c} }

// book is what is recorded.
type book struct {
	at     time.Time
	days   []ledger.Day
	apps   []ledger.Application // who saved most first
	misses []why.Miss
	err    error
}

// recorded returns what is recorded. What is some seconds old is read anew in the background, what is older at once.
func (d *data) recorded() *book {
	b, age := d.known()
	switch {
	case b != nil && age < bookAge:
		return b
	case b != nil && age < spaceAge && d.ctx.Err() == nil:
		if d.reading.TryLock() {
			d.walks.Go(func() {
				defer d.reading.Unlock()
				d.read()
			})
		}
		return b
	}
	d.reading.Lock()
	defer d.reading.Unlock()
	if b, age := d.known(); b != nil && age < bookAge { // somebody else has read it
		return b
	}
	return d.read()
}

func (d *data) known() (b *book, age time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.book != nil {
		age = time.Since(d.book.at)
	}
	return d.book, age
}

// read reads what is recorded.
func (d *data) read() *book {
	b := new(book)
	d.mu.Lock()
	walking := d.walking // which reads for seconds, and has merged
	d.mu.Unlock()
	b.err = d.withLedger(!walking, func(l *ledger.Ledger) (err error) {
		if b.days, err = l.Days(); err != nil {
			return err
		}
		if b.apps, err = l.Totals(); err != nil {
			return err
		}
		b.misses, err = why.Misses(d.ctx, l, d.c.Disk, why.Options{})
		return err
	})
	b.at = time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.book = b
	return b
}

// withLedger calls f with the records, merged before if that is wanted. To merge waits for those who read.
func (d *data) withLedger(merged bool, f func(*ledger.Ledger) error) error {
	c := d.c
	if !merged {
		s := *c.Settings
		s.Mode = settings.ModeReadOnly
		c.Settings = &s
	}
	l, err := ledger.Open(d.ctx, c)
	if err != nil {
		return err
	}
	defer l.Close()
	return f(l)
}

// program is what an application has of a program on a device.
type program struct {
	app, device, name string
	places            []records.Place // of some entries
	entries, bytes    int64
}

// candidate is an entry that may go.
type candidate struct {
	store.Info
	worth float64
}

// space is what takes space.
type space struct {
	At             time.Time
	Done           bool // else there are more entries
	Entries, Bytes int64
	programs       []*program  // the largest first
	next           []candidate // the first one first
	err            error
}

// seen returns what takes space, looking anew in the background where that is old. It waits a moment for the first part.
func (d *data) seen() *space {
	d.look()
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		d.mu.Lock()
		s := d.space
		d.mu.Unlock()
		if s != nil {
			return s
		}
		if time.Since(begun) > time.Second || d.ctx.Err() != nil {
			return &space{At: time.Now()}
		}
	}
}

// look begins to look at all entries, unless that was done a moment ago.
func (d *data) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.walking || d.space != nil && time.Since(d.space.At) < spaceAge || d.ctx.Err() != nil {
		return
	}
	d.walking = true
	first := d.space == nil
	d.walks.Go(func() {
		s := d.walk(func(part *space) {
			if first {
				d.put(part)
			}
		})
		d.mu.Lock()
		defer d.mu.Unlock()
		d.space, d.walking = s, false
	})
}

func (d *data) put(s *space) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.space = s
}

// walk looks at all entries. It calls part with what is known by then, more and more rarely.
func (d *data) walk(part func(*space)) *space {
	w := walker{
		policy: d.c.Disk.Status().Policy, now: time.Now(), programs: make(map[programKey]*program),
		names: make(map[string]string),
	}
	every := 50 * time.Millisecond
	until := w.now.Add(every)
	err := d.withLedger(true, func(l *ledger.Ledger) (err error) {
		if w.pins, err = d.c.Disk.Pins(d.ctx); err != nil {
			return err
		}
		for info, err := range d.c.Disk.List(d.ctx) {
			if err != nil {
				return err
			}
			var e *ledger.Entry
			if !info.Key.IsZero() {
				e, _ = l.Of(records.PlaceOf(info.Key)) // a damaged index is told of with the days
			}
			w.add(info, e)
			if w.entries%64 == 0 && time.Now().After(until) {
				part(w.space())
				every *= 2
				until = time.Now().Add(every)
			}
		}
		return nil
	})
	s := w.space()
	s.Done, s.err = true, err
	return s
}

type programKey struct{ app, device, name string }

// walker adds up entries.
type walker struct {
	policy         disk.Policy
	pins           map[string]string // see disk.Store.Pins
	now            time.Time
	entries, bytes int64
	programs       map[programKey]*program
	next           []candidate
	names          map[string]string // of devices and applications, each kept once
}

// kernelsOf names the program of an entry; those of which no kernel is known are one.
func kernelsOf(info store.Info) string {
	if len(info.Kernels) == 0 {
		return "(no kernel is known)"
	}
	return entries.Name(info)
}

func (w *walker) add(info store.Info, e *ledger.Entry) {
	w.entries++
	w.bytes += info.Size
	app, most := nobody, ledger.Use{Hits: -1}
	if e != nil {
		for name, u := range e.Apps {
			name = w.name(name)
			if u.Saved > most.Saved || u.Saved == most.Saved && (u.Hits > most.Hits || u.Hits == most.Hits && name < app) {
				app, most = name, u
			}
		}
	}
	k := programKey{app, w.name(cmp.Or(entries.DeviceName(info), "(unknown)")), kernelsOf(info)}
	p := w.programs[k]
	if p == nil && len(w.programs) >= maxPrograms {
		k.name = others
		p = w.programs[k]
	}
	if p == nil {
		p = &program{app: k.app, device: k.device, name: k.name}
		w.programs[k] = p
	}
	p.entries++
	p.bytes += info.Size
	if info.Key.IsZero() || info.Bad != nil {
		return
	}
	if len(p.places) < maxPlaces {
		p.places = append(p.places, records.PlaceOf(info.Key))
	}
	if entries.IsPinned(w.pins, info) {
		return // evict passes it by
	}
	w.next = append(w.next, candidate{info, evict.Worth(info.Cost, info.Size, w.now.Sub(info.Accessed))})
	if len(w.next) >= 4*maxNext {
		w.trim()
	}
}

// name returns a text as it is shown, which is kept once.
func (w *walker) name(s string) string {
	known, ok := w.names[s]
	if !ok {
		known = human.Printable(s, false)
		w.names[s] = known
	}
	return known
}

// trim leaves those that go first.
func (w *walker) trim() {
	slices.SortStableFunc(w.next, func(a, b candidate) int {
		age := a.Accessed.Compare(b.Accessed)
		if w.policy != disk.Cost {
			return age
		}
		return cmp.Or(cmp.Compare(a.worth, b.worth), age)
	})
	w.next = w.next[:min(len(w.next), maxNext)]
}

// space returns what is known by now.
func (w *walker) space() *space {
	w.trim()
	s := &space{At: time.Now(), Entries: w.entries, Bytes: w.bytes, next: slices.Clone(w.next)}
	for p := range maps.Values(w.programs) {
		copied := *p
		s.programs = append(s.programs, &copied)
	}
	slices.SortFunc(s.programs, func(a, b *program) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.name, b.name), cmp.Compare(a.app, b.app), cmp.Compare(a.device, b.device))
	})
	return s
}
