package deps

import (
	"sync"
	"time"
)

// memory holds header files that were read and scanned: the next unit of the process
// that reads one needs no more than the look at it that tells whether it has changed.
// A library of a thousand headers takes longer to read and scan than a small unit that
// includes it takes to compile.
type memory struct {
	mu    sync.Mutex
	files map[memoryKey]*remembered
	busy  map[memoryKey]chan struct{} // files that are being read, until the channel is closed
	bytes int64
	clear *time.Timer
}

// The memory takes so much at most, and is given back when it was of no use for a while.
const (
	maxRemembered  = 48 << 20
	rememberedTime = 20 * time.Second
)

// memoryKey is a file as it was, and how it was read.
type memoryKey struct {
	stamp
	ptx, raw bool // see traces
}

func newMemoryKey(s *spot, t *traces) memoryKey { return memoryKey{s.stamp, t.ptx, t.raw} }

// remembered is a file, and what its scan noted of it. Neither changes.
type remembered struct {
	*file
	traces traces
}

// get returns a file that is there, or is being fetched, and adds what its scan noted to
// t. Where there is none the caller reads it, and ends with done, which may be nil:
// nobody else reads it meanwhile. While another reads it, help is called until there is no
// more to be done.
func (m *memory) get(s *spot, t *traces, help func() bool) (f *file, done func()) {
	if m == nil || !s.settled {
		return nil, nil
	}
	k := newMemoryKey(s, t)
	r, done, busy := m.claim(k)
	if busy != nil {
		wait(busy, help)
		r, done, _ = m.claim(k)
	}
	if r == nil {
		return nil, done
	}
	t.add(&r.traces)
	return r.file, nil
}

// wait waits until a channel is closed, and helps meanwhile.
func wait(closed chan struct{}, help func() bool) {
	for {
		select {
		case <-closed:
			return
		default:
		}
		if !help() {
			<-closed
			return
		}
	}
}

// claim returns a file that is there, or who is reading it; else the caller is, until it
// calls done.
func (m *memory) claim(k memoryKey) (r *remembered, done func(), busy chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r = m.files[k]; r != nil {
		return r, nil, nil
	}
	if busy = m.busy[k]; busy != nil {
		return nil, nil, busy
	}
	if m.busy == nil {
		m.busy = make(map[memoryKey]chan struct{})
	}
	mine := make(chan struct{})
	m.busy[k] = mine
	return nil, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.busy, k)
		close(mine)
	}, nil
}

// fetch puts a file there that read returns, unless it is there, or somebody else reads
// it, who follows its lines. It returns its source, or nil; ok is false if there is no
// room for it.
func (m *memory) fetch(s *spot, kind *traces, read func() *file) (src *source, ok bool) {
	if !s.settled {
		return nil, true
	}
	r, done, _ := m.claim(newMemoryKey(s, kind))
	switch {
	case r != nil:
		return r.src, true
	case done == nil:
		return nil, true
	}
	defer done()
	f := read()
	if f == nil {
		return nil, true
	}
	noted := f.scan(kind)
	return f.src, m.put(s, f, noted)
}

// put keeps a file, if a later change of it would show and there is room.
func (m *memory) put(s *spot, f *file, noted *traces) bool {
	size := int64(len(f.content) + len(f.src.text))
	if m == nil || !s.settled || size > maxRemembered/8 {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bytes+size > maxRemembered {
		return false
	}
	if m.files == nil {
		m.files = make(map[memoryKey]*remembered)
	}
	k := newMemoryKey(s, noted)
	if m.files[k] == nil {
		m.files[k] = &remembered{f, *noted}
		m.bytes += size
	}
	return true
}

// used says that the memory was of use, or may soon be.
func (m *memory) used() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.files == nil:
	case m.clear == nil:
		m.clear = time.AfterFunc(rememberedTime, m.forget)
	default:
		m.clear.Reset(rememberedTime)
	}
}

func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files, m.bytes = nil, 0
	rooms.leave()
}

// add adds what another scan noted.
func (t *traces) add(o *traces) {
	t.pastes = t.pastes || o.pastes
	t.pragmas = t.pragmas || o.pragmas
	t.renames = t.renames || o.renames
	for i := range t.letters {
		t.letters[i] |= o.letters[i]
	}
	if t.pieces == nil && len(o.pieces) > 0 {
		t.pieces = make(map[string]bool)
	}
	for name := range o.pieces {
		t.pieces[name] = true
	}
	a, b := &t.assembler, &o.assembler
	if a.whole == "" {
		a.whole = b.whole
	}
	for i, text := range b.starts {
		if a.starts[i] == "" {
			a.starts[i] = text
		}
	}
	for i := range b.goesOn {
		for n, yes := range b.goesOn[i] {
			a.goesOn[i][n] = a.goesOn[i][n] || yes
		}
	}
}
