package deps

import (
	"sync"
	"time"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/deps/internal/scan"
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

var ofProcess memory

// memoryKey is a file as it was, and how it was read.
type memoryKey struct {
	files.Stamp
	ptx, raw bool // see traces
}

func newMemoryKey(s *files.Spot, t *scan.Traces) memoryKey { return memoryKey{s.Stamp, t.PTX, t.Raw} }

// remembered is a file, and what its scan noted of it. Neither changes.
type remembered struct {
	*file
	traces scan.Traces
}

// get returns a file that is there, and adds what its scan noted to t; nil: there is none.
func (m *memory) get(s *files.Spot, t *scan.Traces) *file {
	if m == nil || !s.Settled {
		return nil
	}
	m.mu.Lock()
	r := m.files[newMemoryKey(s, t)]
	m.mu.Unlock()
	if r == nil {
		return nil
	}
	t.Add(&r.traces)
	return r.file
}

// put keeps a file, if a later change of it would show and there is room.
func (m *memory) put(s *files.Spot, f *file, noted *scan.Traces) {
	size := int64(len(f.content) + len(f.src.Text))
	if m == nil || !s.Settled || size > maxRemembered/8 {
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
