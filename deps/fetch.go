package deps

import (
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// fetcher reads and scans header files into the memory before the tracker comes to
// them, on the processors that are idle: it follows the lines that name a file, as far
// as their names tell. It decides nothing. What it does not find, or finds in another
// place than a compiler would, the tracker looks for itself; what it has read is taken
// by the file's stamp alone.
type fetcher struct {
	sys    system
	path   []string // directories to search
	quotes int      // so many of them are for #include "…" alone
	kind   traces   // what tells how a file is scanned
	until  time.Time
	stop   atomic.Bool

	mu      sync.Mutex
	queue   []hint
	seen    map[hint]bool
	sources map[*source]bool // those whose lines were followed
	running int
	bytes   int64
}

// hint is a name that a source includes.
type hint struct {
	home string // the directory that is searched first; "" for none
	name string
	form byte
}

// mostFetchers bounds the goroutines that one unit is fetched by.
const mostFetchers = 7

// newFetcher returns one for a tracker whose directories are set; nil where nothing is
// remembered.
func newFetcher(t *tracker) *fetcher {
	if t.disk.memory == nil {
		return nil
	}
	return &fetcher{
		sys: t.disk.system, path: t.path, quotes: t.quotes, until: t.disk.until, seen: make(map[hint]bool), sources: make(map[*source]bool),
		kind: traces{ptx: t.traces.ptx, raw: t.traces.raw},
	}
}

// follow has the files fetched that a source in the directory home names.
func (f *fetcher) follow(home string, s *source) {
	if f == nil || f.stop.Load() {
		return
	}
	most := min(runtime.GOMAXPROCS(0)-1, mostFetchers)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sources[s] {
		return
	}
	f.sources[s] = true
	for _, l := range s.lines {
		if l.kind != include || l.form == 0 || l.next {
			continue
		}
		h := hint{home, l.name, l.form}
		if l.form == '<' {
			h.home = ""
		}
		if f.seen[h] || len(f.seen) >= maxProbes {
			continue
		}
		f.seen[h] = true
		f.queue = append(f.queue, h)
	}
	for ; f.running < most && f.running < len(f.queue); f.running++ {
		go f.run()
	}
}

// end stops what is under way, and does not wait for it.
func (f *fetcher) end() {
	if f != nil {
		f.stop.Store(true)
	}
}

func (f *fetcher) run() {
	defer func() {
		if recover() != nil { // the tracker comes to the same file, where somebody hears of it
			f.stop.Store(true)
		}
	}()
	for h, ok := f.next(); ok; h, ok = f.next() {
		f.fetch(h)
	}
}

// next returns what to fetch; with none the goroutine is over.
func (f *fetcher) next() (h hint, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 || f.stop.Load() || f.bytes > maxBytes || time.Now().After(f.until) {
		f.running--
		return hint{}, false
	}
	h, f.queue = f.queue[0], f.queue[1:]
	return h, true
}

func (f *fetcher) fetch(h hint) {
	at, s := f.find(h)
	if s == nil {
		return
	}
	src, ok := f.sys.memory.fetch(s, &f.kind, func() *file {
		content, st, err := f.sys.read(at, maxBytes)
		if err != nil || st != s.stamp {
			return nil
		}
		f.mu.Lock()
		f.bytes += st.size
		f.mu.Unlock()
		return newFile(content, st)
	})
	if !ok {
		f.stop.Store(true) // the tracker would read all of it again
	}
	if src != nil {
		f.follow(parent(path.Clean(at)), src)
	}
}

// find looks for a header in the order of the search; nil where it is not found.
func (f *fetcher) find(h hint) (at string, s *spot) {
	if strings.HasPrefix(h.name, "/") {
		return h.name, f.look(h.name)
	}
	if h.home != "" {
		at = h.home + "/" + h.name
		if s = f.look(at); s != nil {
			return at, s
		}
	}
	start := 0
	if h.form == '<' {
		start = f.quotes
	}
	for _, dir := range f.path[start:] {
		at = dir + "/" + h.name
		if s = f.look(at); s != nil {
			return at, s
		}
	}
	return "", nil
}

// look returns what is at a path if it is a file that may be remembered.
func (f *fetcher) look(path string) *spot {
	now := time.Now()
	k, st, err := f.sys.look(path)
	if err != nil || k != regular {
		return nil
	}
	return &spot{kind: k, stamp: st, settled: st.settledAt(now)}
}
