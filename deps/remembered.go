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

// get returns a file that is there, and adds what its scan noted to t; nil: there is none.
func (m *memory) get(s *spot, t *traces) *file {
	if m == nil || !s.settled {
		return nil
	}
	m.mu.Lock()
	r := m.files[newMemoryKey(s, t)]
	m.mu.Unlock()
	if r == nil {
		return nil
	}
	t.add(&r.traces)
	return r.file
}

// put keeps a file, if a later change of it would show and there is room.
func (m *memory) put(s *spot, f *file, noted *traces) {
	size := int64(len(f.content) + len(f.src.text))
	if m == nil || !s.settled || size > maxRemembered/8 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bytes+size > maxRemembered {
		return
	}
	if m.files == nil {
		m.files = make(map[memoryKey]*remembered)
	}
	k := newMemoryKey(s, noted)
	if m.files[k] == nil {
		m.files[k] = &remembered{f, *noted}
		m.bytes += size
	}
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
