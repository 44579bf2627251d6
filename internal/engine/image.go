package engine

import (
	"slices"
	"sync/atomic"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
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

	uncacheable reason.Uncacheable
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
	for i, u := range img.Units() {
		found := deps.ScanUnit(u)
		if m.uncacheable = found.Reason; !m.uncacheable.None() {
			return m
		}
		reads[i] = found.Reads != "" || found.Path != "" // or names where files are
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
	return !slices.ContainsFunc(m.Units(), func(u key.Unit) bool { return u.Kind != key.Opaque })
}

// hasHeaders reports whether a unit brings headers of its own.
func (m *Image) hasHeaders() bool {
	return slices.ContainsFunc(m.Units(), func(u key.Unit) bool { return len(u.Headers) > 0 })
}
