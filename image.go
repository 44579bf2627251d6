package kernstash

import (
	"sync/atomic"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
)

// Image is a device image to build: a snapshot of code and of the headers that
// are given with it, taken when it is made. Making it hashes the code and looks
// for what makes it uncacheable, so make it once and use it for many requests.
// It is safe for concurrent use.
//
// Header files are looked at by the first request for the image with given
// options, constants and devices. Later requests of that kind mean the files as
// they were then, as long as the Image lives and is not asked for in hundreds of
// other ways: make a new one, as one makes a new program of the driver, to build
// what they are now.
type Image struct {
	*key.Image

	// CompileOptions and LinkOptions are options that belong to the image
	// itself; they come before those of a request. Set them before first use.
	CompileOptions, LinkOptions string

	checkFiles func(contents [][]byte) error // see CheckFiles; nil: nothing is checked

	against deps.Reason // why it cannot be cached
	serial  uint64      // tells images apart; never reused, that would be a wrong hit
	files   *imageFiles // nil: it reads no header files
}

// imageFiles is what belongs to an image that reads header files.
type imageFiles struct {
	reads       []bool // for each unit, whether it does
	resolutions resolutions

	// fixed returns those units as they were compiled for a device; nil: the files
	// are looked at. See NewCompiledImage.
	fixed func(device int) []key.Unit
}

var imageSerials atomic.Uint64

// NewImage returns the image of one translation unit. Headers are those that
// the code includes by name and that are no files. Where what the code reads
// cannot be known (it includes headers in memory and files, or the time of day),
// the image is uncacheable: it is built, and shared in memory by those who use
// this very Image, but not stored. Empty code, or a header given twice, is an
// error that wraps key.ErrEmpty or key.ErrDuplicate.
func NewImage(kind key.Kind, code []byte, headers ...key.Header) (*Image, error) {
	return NewImageSet(key.Unit{Kind: kind, Code: code, Headers: headers})
}

// NewImageSet returns the image of several units that are compiled each and
// linked together, in an order that is always the same for the same units. Where the
// order means something, see NewImageSequence.
func NewImageSet(units ...key.Unit) (*Image, error) {
	img, err := key.NewImageSet(units...)
	if err != nil {
		return nil, err
	}
	return newImage(img), nil
}

// NewImageSequence returns the image of several units, or of one, that are compiled
// each and linked in this order: of two definitions of a name the order may tell which
// one counts, and of a unit that is linked alone a compiler may make other code than of
// one that is built in one step. What the OpenCL layer keeps of clLinkProgram are such.
func NewImageSequence(units ...key.Unit) (*Image, error) {
	img, err := key.NewImageSequence(units...)
	if err != nil {
		return nil, err
	}
	return newImage(img), nil
}

// newImage scans the code of an image.
func newImage(img *key.Image) *Image {
	m := &Image{Image: img, serial: imageSerials.Add(1)}
	reads := make([]bool, len(img.Units()))
	some := false
	for i := range img.Units() {
		found := scanned.unit(img, i)
		if !found.against.None() {
			m.against = found.against
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

// IncludesFiles says whether the code may include header files, so that what it
// means changes with them, or names where files are, as __FILE__.
func (m *Image) IncludesFiles() bool { return m.files != nil }

// CheckFiles has the contents of the header files that the image is found to read checked
// before a program of it is served or stored. An error of check makes it uncacheable. Call it
// before first use; check may be called from any goroutine.
func (m *Image) CheckFiles(check func(contents [][]byte) error) { m.checkFiles = check }

// isOpaque says whether all code is input of a compiler of the caller's own.
func (m *Image) isOpaque() bool {
	for _, u := range m.Units() {
		if u.Kind != key.Opaque {
			return false
		}
	}
	return true
}

// hasHeaders says whether a unit brings headers of its own.
func (m *Image) hasHeaders() bool {
	for _, u := range m.Units() {
		if len(u.Headers) > 0 {
			return true
		}
	}
	return false
}
