package records

import (
	"errors"
	"sync"
	"time"

	"github.com/kernstash/kernstash/key"
)

// Bounds of what a process keeps in memory until it is written. What is over them is not recorded.
const (
	maxKeys  = 2048
	maxBytes = 256 << 10 // of misses
	maxAgain = 1 << 20   // of what could not be written
)

// Log gathers what this process asked for. A nil Log takes nothing. It is safe for concurrent use.
type Log struct {
	app string // "": Application says

	mu      sync.Mutex
	hits    map[key.Key]*hits
	misses  []byte
	begun   time.Time // something was first handed over
	written time.Time // and last
}

type hits struct {
	n           int64
	saved       time.Duration
	first, last time.Time
	label       string
}

// New returns a Log of an application; "": of this process's program.
func New(app string) *Log { return &Log{app: app} }

// Hit notes that an entry was loaded from a store. After the first hit of an entry it allocates
// nothing.
func (l *Log) Hit(k *key.Key, at time.Time, saved time.Duration, label func() string) {
	if l == nil || k.IsZero() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hits[*k]
	if h == nil {
		if len(l.hits) >= maxKeys {
			return
		}
		if l.hits == nil {
			l.hits = make(map[key.Key]*hits)
		}
		h = &hits{first: at, label: label()}
		l.hits[*k] = h
	}
	h.n++
	h.saved += saved
	h.last = at
}

// Miss notes a line of the kind Miss.
func (l *Log) Miss(of Line) {
	if l == nil {
		return
	}
	of.Kind, of.App = Miss, l.application()
	b := of.Append(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.misses)+len(b) <= maxBytes {
		l.misses = append(l.misses, b...)
	}
}

func (l *Log) application() string {
	if l.app != "" {
		return l.app
	}
	return Application()
}

// A process that ends without telling us writes along the way: at once what it missed; hits when
// the part of its time in which nothing was written is a quarter, or seldomBy.
const seldomBy = 100 * time.Millisecond

// Take returns what is to be written now, and forgets it; nil: nothing is. last says that the process ends.
func (l *Log) Take(now time.Time, last bool) []byte {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.hits) == 0 && len(l.misses) == 0 {
		return nil
	}
	pause := min(l.written.Sub(l.begun)/4, seldomBy)
	if !last && len(l.misses) == 0 && now.Sub(l.written) < pause {
		return nil
	}
	if l.begun.IsZero() {
		l.begun = now
	}
	l.written = now
	b := append([]byte("\n"), l.misses...) // what stands before it may be torn
	l.misses = nil
	app := l.application()
	for k, h := range l.hits {
		line := Line{Kind: Hits, At: h.last, Since: h.first, App: app, Entry: EntryOf(k), Hits: h.n, Saved: h.saved, Label: h.label}
		b = line.Append(b)
	}
	clear(l.hits)
	return b
}

// ErrTorn is wrapped where lines may have been written in part: what is written again might count twice.
var ErrTorn = errors.New("written in part")

// GiveBack takes back what could not be written, as far as there is room for it.
func (l *Log) GiveBack(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(b)+len(l.misses) <= maxAgain {
		l.misses = append(b, l.misses...)
	}
}
