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
	spots  spots

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
// remembered, or no other processor is there.
func newFetcher(t *tracker) *fetcher {
	if t.disk.memory == nil || runtime.GOMAXPROCS(0) == 1 {
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
	if h, ok = f.take(); !ok {
		f.running--
	}
	return h, ok
}

// take takes what is to be fetched from the queue; the caller holds the lock.
func (f *fetcher) take() (h hint, ok bool) {
	if len(f.queue) == 0 || f.stop.Load() || f.bytes > maxBytes || time.Now().After(f.until) {
		return hint{}, false
	}
	h, f.queue = f.queue[0], f.queue[1:]
	return h, true
}

// help fetches one file, for the tracker that would only wait for another; false: there is
// none to be fetched.
func (f *fetcher) help() bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	h, ok := f.take()
	f.mu.Unlock()
	if ok {
		f.fetch(h)
	}
	return ok
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
		f.follow(parent(at), src)
	}
}

// find looks for a header in the order of the search; nil where it is not found.
func (f *fetcher) find(h hint) (at string, s *spot) {
	if strings.HasPrefix(h.name, "/") {
		return f.in("", h.name[1:])
	}
	if h.home != "" {
		if at, s = f.in(h.home, h.name); s != nil {
			return at, s
		}
	}
	start := 0
	if h.form == '<' {
		start = f.quotes
	}
	for _, dir := range f.path[start:] {
		if at, s = f.in(dir, h.name); s != nil {
			return at, s
		}
	}
	return "", nil
}

// in looks for a header in a directory, but not where a directory on the way is missing,
// which the tracker wants to know as well. It takes ".." for the directory above, as it
// mostly is; where that is wrong, the tracker finds another file.
func (f *fetcher) in(dir, name string) (at string, s *spot) {
	if dir != "" && f.at(dir).kind == nothing {
		return "", nil
	}
	at = dir + "/" + name
	if strings.Contains(at, "/.") || strings.Contains(at, "//") {
		at = path.Clean(at)
	} else {
		for i := len(dir) + 1; i < len(at); i++ {
			if at[i] == '/' && f.at(at[:i]).kind == nothing {
				return "", nil
			}
		}
	}
	if found := f.at(at); found.err == nil && found.kind == regular {
		return at, &found
	}
	return "", nil
}

// at looks at a path, once for all.
func (f *fetcher) at(path string) spot {
	found, ok := f.spots.get(path)
	if !ok {
		found = f.sys.spot(path)
		f.spots.put(path, found)
	}
	return found
}
