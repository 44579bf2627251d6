package kernstash

import (
	"sync"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
)

// scanned remembers, by the digest of an image of one unit without headers in memory,
// what a scan of its code found: that depends on nothing else, and programs are asked for
// again and again.
var scanned scans

type scans struct {
	mu  sync.Mutex
	all map[key.Digest]finding
}

type finding struct {
	reads   bool // files, maybe
	named   bool // what is built depends on where files are
	against deps.Reason
}

const (
	scansKept = 64
	scanLeast = 2 << 10 // bytes of code; less is scanned as fast
)

// unit is deps.ScanUnit of the i-th unit.
func (s *scans) unit(img *key.Image, i int) finding {
	units := img.Units()
	remember := len(units) == 1 && len(units[0].Headers) == 0 && len(units[0].Code) >= scanLeast
	if remember {
		s.mu.Lock()
		known, ok := s.all[img.Digest()]
		s.mu.Unlock()
		if ok {
			return known
		}
	}
	line, against := deps.ScanUnit(units[i])
	found := finding{line != "", deps.NamesPath(units[i]) != "", against}
	if remember {
		s.mu.Lock()
		if s.all == nil || len(s.all) >= scansKept {
			s.all = make(map[key.Digest]finding)
		}
		s.all[img.Digest()] = found
		s.mu.Unlock()
	}
	return found
}
