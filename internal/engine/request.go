package engine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// Request asks for a program. Its parts must not change while it is in use.
type Request struct {
	Image     *Image
	Constants []key.SpecConstant // in any order, each id once

	// The options of the image come before those of the request.
	ImageCompileOptions, ImageLinkOptions string
	CompileOptions, LinkOptions           string

	// Without any options NoOptions and NoLinkOptions tell C's NULL from an empty
	// string.
	NoOptions, NoLinkOptions bool

	Attributes []key.Pair // in the key: in any order, those of one name in theirs
	Unkeyed    []key.Pair // in no key
	Devices    []int      // ordinals; none means all of them

	// First says that the first binary of an artifact is enough: the others may be left
	// unread. It is no part of what is asked for. See [Group.Release].
	First bool
}

// ErrInvalid is wrapped by errors about requests that make no sense.
var ErrInvalid = errors.New("invalid request")

const maxDevices = 64

// ID finds a program in one session: what its request says, and the set of devices.
type ID struct {
	What    key.Digest
	Devices uint64
}

// ID returns the request's identity. It does not allocate for requests whose
// constants, options and attributes fit 512 bytes and are sorted, and asks the host
// nothing but the number of devices, and the working directory where options put it
// into what is built.
func (s *Session) ID(r *Request) (ID, error) {
	if r.Image == nil || r.Image.Image == nil {
		return ID{}, fmt.Errorf("%w: no image", ErrInvalid)
	}
	devices, err := r.deviceSet(s.host.Devices())
	if err != nil {
		return ID{}, err
	}
	var buf [640]byte
	b := append(buf[:0], "request\x00"...)
	digest := r.Image.Digest()
	b = append(b, digest[:]...)
	b = appendString(b, r.ImageCompileOptions)
	b = appendString(b, r.ImageLinkOptions)
	b = appendString(b, r.CompileOptions)
	b = appendString(b, r.LinkOptions)
	var has byte
	for i, is := range [...]bool{r.NoOptions, r.NoLinkOptions, len(r.Attributes)+len(r.Unkeyed) > 0} {
		if is {
			has |= 1 << i
		}
	}
	b = append(b, has)
	if len(r.Attributes)+len(r.Unkeyed) > 0 {
		b = appendAttributes(appendAttributes(b, r.Attributes), r.Unkeyed)
	}
	if r.keepsPaths() {
		if dir, _ := s.host.WorkingDirectory(); dir != "" {
			b = appendString(b, dir)
		}
	}
	sorted := r.Constants
	if !slices.IsSortedFunc(sorted, compareConstants) {
		sorted = slices.Clone(sorted)
		slices.SortFunc(sorted, compareConstants)
	}
	for i, c := range sorted {
		if i > 0 && sorted[i-1].ID == c.ID {
			return ID{}, fmt.Errorf("%w: specialization constant %d: %w", ErrInvalid, c.ID, key.ErrDuplicate)
		}
		b = binary.LittleEndian.AppendUint32(b, c.ID)
		b = binary.LittleEndian.AppendUint64(b, uint64(len(c.Value)))
		b = append(b, c.Value...)
	}
	return ID{sha256.Sum256(b), devices}, nil
}

// Exclusive returns the id under which an image has a program to itself: one that
// reads what no key holds, so that another image of the same code may mean something
// else by it.
func (id ID) Exclusive(image *Image) ID {
	var buf [64]byte
	b := append(append(buf[:0], "private\x00"...), id.What[:]...)
	id.What = sha256.Sum256(binary.LittleEndian.AppendUint64(b, image.serial))
	return id
}

// keepsPaths reports whether the options put the working directory into what is built.
func (r *Request) keepsPaths() bool {
	for _, o := range [...]string{r.ImageCompileOptions, r.CompileOptions} {
		if mayKeepPaths(o) && flags.KeepPaths(key.Tokens(o), false) {
			return true
		}
	}
	return false
}

// mayKeepPaths reports whether options may have one that begins with -g and is not
// about an architecture. Unlike [key.Tokens] it allocates nothing.
func mayKeepPaths(options string) bool {
	for rest := options; ; {
		i := strings.Index(rest, "-g")
		if i < 0 {
			return false
		}
		if rest = rest[i+len("-g"):]; !strings.HasPrefix(rest, "pu-") {
			return true
		}
	}
}

// deviceSet returns the devices, of n, as bits.
func (r *Request) deviceSet(n int) (uint64, error) {
	if n < 1 || n > maxDevices {
		return 0, fmt.Errorf("%w: a context with %d devices, 1 to %d are possible", ErrInvalid, n, maxDevices)
	}
	if len(r.Devices) == 0 {
		return 1<<n - 1, nil
	}
	var set uint64
	for _, d := range r.Devices {
		if d < 0 || d >= n {
			return 0, fmt.Errorf("%w: device %d of a context with %d", ErrInvalid, d, n)
		}
		set |= 1 << d
	}
	return set, nil
}

// Clone returns the request with constants and attributes of its own: a build may go
// on when the caller who asked first has given up and uses its memory again.
func (r Request) Clone() Request {
	r.Constants = slices.Clone(r.Constants)
	r.Attributes, r.Unkeyed = slices.Clone(r.Attributes), slices.Clone(r.Unkeyed)
	for i := range r.Constants {
		r.Constants[i].Value = bytes.Clone(r.Constants[i].Value)
	}
	return r
}

func appendString(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

func appendAttributes(b []byte, attributes []key.Pair) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(len(attributes)))
	for _, a := range key.SortAttributes(attributes) {
		b = appendString(appendString(b, a.Name), a.Value)
	}
	return b
}

func compareConstants(a, b key.SpecConstant) int { return cmp.Compare(a.ID, b.ID) }

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
