package deps

import (
	"sync"
	"time"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/deps/internal/scan"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// Memory holds header files that were read and scanned, for the next unit that includes
// them: many programs of an application include one library. A file that has changed since
// is read again, and one whose change might not show in its stamp is not held. All is
// forgotten once the memory was of no use for 20 seconds. The zero Memory is empty; it is
// safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	files map[memoryKey]*held
	bytes int64
	clear *time.Timer
}

const (
	maxHeld  = 48 << 20 // bytes of files, most of which count twice
	heldTime = 20 * time.Second
)

// memoryKey is a file as it was, and how it was scanned.
type memoryKey struct {
	files.Stamp
	ptx, raw bool // see [scan.Traces]
}

// held is a file, and what its scan noted. Neither changes.
type held struct {
	*file
	noted *scan.Traces
}

// Track is [Track] with a memory. m may be nil.
func (m *Memory) Track(u key.Unit, words []string, s Search) (*Tracking, reason.Uncacheable) {
	defer m.keepAWhile()
	return track(newTracker(files.OS, m, u, words, s))
}

// get returns a file that is held, nil if none is, and adds what its scan noted to t.
func (m *Memory) get(s *files.Spot, t *scan.Traces) *file {
	if m == nil || !s.Settled {
		return nil
	}
	m.mu.Lock()
	h := m.files[memoryKey{s.Stamp, t.PTX, t.Raw}]
	m.mu.Unlock()
	if h == nil {
		return nil
	}
	t.Add(h.noted)
	return h.file
}

// put holds a file, if a later change of it would show and there is room.
func (m *Memory) put(s *files.Spot, f *file, noted *scan.Traces) {
	size := int64(len(f.content) + len(f.src.Text)) // which are often the same bytes
	if m == nil || !s.Settled {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k := memoryKey{s.Stamp, noted.PTX, noted.Raw}
	if m.bytes+size > maxHeld || m.files[k] != nil {
		return
	}
	if m.files == nil {
		m.files = make(map[memoryKey]*held)
	}
	m.files[k] = &held{f, noted}
	m.bytes += size
}

// keepAWhile puts off when all is forgotten.
func (m *Memory) keepAWhile() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.files == nil:
	case m.clear == nil:
		m.clear = time.AfterFunc(heldTime, m.forget)
	default:
		m.clear.Reset(heldTime)
	}
}

func (m *Memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files, m.bytes = nil, 0
}
