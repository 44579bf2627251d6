package engine

import (
	"sync"
	"sync/atomic"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
)

// Image is a device image that was scanned for what makes it uncacheable, and
// remembers what requests for it were found to read. It is safe for concurrent use.
type Image struct {
	*key.Image

	// Owner is what the front end knows the image as; the engine hands it on to
	// the Host. It is set before first use.
	Owner any

	// CheckFiles checks the contents of the header files that the image is found
	// to read, before a program of it is served or stored; nil checks nothing. An
	// error makes the image uncacheable. It is set before first use.
	CheckFiles func(contents [][]byte) error

	uncacheable deps.Reason
	serial      uint64      // tells images apart; never reused, that would be a wrong hit
	files       *imageFiles // nil: it reads no header files
}

// imageFiles is what belongs to an image that reads header files.
type imageFiles struct {
	reads       []bool // for each unit, whether it does
	resolutions resolutions

	// compiled returns those units as they were compiled for a device; nil: the
	// files are looked at. See NewCompiledImage.
	compiled func(device int) []key.Unit
}

var imageSerials atomic.Uint64

// NewImage scans the code of an image.
func NewImage(img *key.Image) *Image {
	m := &Image{Image: img, serial: imageSerials.Add(1)}
	reads := make([]bool, len(img.Units()))
	some := false
	for i := range img.Units() {
		found := scans.unit(img, i)
		if !found.uncacheable.None() {
			m.uncacheable = found.uncacheable
			return m
		}
		reads[i] = found.reads || found.named
		some = some || reads[i]
	}
	if some {
		m.files = &imageFiles{reads: reads}
	}
	return m
}

// NewCompiledImage returns an image some of whose units were compiled before: these
// mean the header files that they read then. compiled returns them for a device, in
// the same order.
func NewCompiledImage(img *key.Image, compiled func(device int) []key.Unit) *Image {
	m := NewImage(img)
	if m.files != nil {
		m.files.compiled = compiled
	}
	return m
}

// ReadsFiles reports whether the code may include header files, so that what it means
// changes with them, or names where files are.
func (m *Image) ReadsFiles() bool { return m.files != nil }

// Serial returns a number that no other image of the process has, nor will have.
func (m *Image) Serial() uint64 { return m.serial }

// isOpaque reports whether all code is input of a compiler of the caller's own.
func (m *Image) isOpaque() bool {
	for _, u := range m.Units() {
		if u.Kind != key.Opaque {
			return false
		}
	}
	return true
}

// hasHeaders reports whether a unit brings headers of its own.
func (m *Image) hasHeaders() bool {
	for _, u := range m.Units() {
		if len(u.Headers) > 0 {
			return true
		}
	}
	return false
}

// scans remembers, by the digest of an image of one unit without headers in memory,
// what a scan of its code found. That depends on nothing else, and programs are asked
// for again and again.
var scans scanTable

type scanTable struct {
	mu  sync.Mutex
	all map[key.Digest]finding
}

type finding struct {
	reads       bool // files, maybe
	named       bool // what is built depends on where files are
	uncacheable deps.Reason
}

const (
	maxScans    = 64
	minScanKept = 2 << 10 // bytes of code; less is scanned as fast
)

// unit returns what is found in the i-th unit.
func (s *scanTable) unit(img *key.Image, i int) finding {
	units := img.Units()
	remember := len(units) == 1 && len(units[0].Headers) == 0 && len(units[0].Code) >= minScanKept
	if remember {
		s.mu.Lock()
		known, ok := s.all[img.Digest()]
		s.mu.Unlock()
		if ok {
			return known
		}
	}
	scanned := deps.ScanUnit(units[i])
	found := finding{scanned.Reads != "", scanned.Path != "", scanned.Reason}
	if remember {
		s.mu.Lock()
		if s.all == nil || len(s.all) >= maxScans {
			s.all = make(map[key.Digest]finding)
		}
		s.all[img.Digest()] = found
		s.mu.Unlock()
	}
	return found
}
