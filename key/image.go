package key

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind says what the code of a device image is.
type Kind uint8

// The kinds of device image. Their numbers are part of the encoding.
const (
	OpenCLC Kind = 1 // OpenCL C source
	SPIRV   Kind = 2 // SPIR-V
	CUDACpp Kind = 3 // CUDA C++ source
	PTX     Kind = 4 // NVIDIA PTX
	HIPCpp  Kind = 5 // HIP C++ source
	Opaque  Kind = 6 // input of the caller's own compiler
)

var kindNames = [...]string{
	OpenCLC: "OpenCL C", SPIRV: "SPIR-V", CUDACpp: "CUDA C++",
	PTX: "PTX", HIPCpp: "HIP C++", Opaque: "opaque",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// MarshalText writes the name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Image is the device image of a build: one unit, a set of units that are
// built together, in any order, or a sequence of units that are compiled each
// and linked in that order. It is a snapshot: code and headers are copied when
// it is made. Make it with [NewImage], [NewImageSet] or [NewImageSequence].
type Image struct {
	units    []Unit
	sequence bool
	digest   Digest
}

// ErrEmpty is wrapped when there is no code where code is required.
var ErrEmpty = errors.New("empty")

// NewImage returns the image of one unit. Code must not be empty, and no
// header may be given twice.
func NewImage(kind Kind, code []byte, headers ...Header) (*Image, error) {
	return NewImageSet(Unit{Kind: kind, Code: code, Headers: headers})
}

// NewImageSet returns the image of units that are linked together. Equal units
// in another order make an equal image, and the image always presents them in
// the same order, so what is built does not depend on the order either. It
// takes code and headers; see [Image.Tracked] for the rest of a unit.
func NewImageSet(units ...Unit) (*Image, error) { return newUntracked(units, false) }

// NewImageSequence returns the image of units that are compiled each and linked
// in this order, which counts. One unit that is compiled and linked is another
// image than the same unit built in one step: a compiler may make other code of
// it. Like [NewImageSet] it takes code and headers.
func NewImageSequence(units ...Unit) (*Image, error) { return newUntracked(units, true) }

func newUntracked(units []Unit, sequence bool) (*Image, error) {
	if len(units) == 0 {
		return nil, fmt.Errorf("device image: %w", ErrEmpty)
	}
	own := make([]Unit, len(units))
	for i, u := range units {
		if len(u.Code) == 0 {
			return nil, fmt.Errorf("device image, unit %d: %w", i, ErrEmpty)
		}
		own[i] = Unit{Kind: u.Kind, Code: bytes.Clone(u.Code), Headers: make([]Header, len(u.Headers))}
		for j, h := range u.Headers {
			own[i].Headers[j] = Header{h.Name, bytes.Clone(h.Content)}
		}
		slices.SortFunc(own[i].Headers, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
		for j := 1; j < len(own[i].Headers); j++ {
			if name := own[i].Headers[j].Name; own[i].Headers[j-1].Name == name {
				return nil, fmt.Errorf("device image, header %q: %w", name, ErrDuplicate)
			}
		}
	}
	return newImage(own, sequence), nil
}

// Tracked returns m with units that were found to read header files: its own in its own order,
// or, of a zero Image, a set of them. It shares what the units hold with the caller, who must not
// change it; the slice itself is copied. The units must be those of an image with Includes, Files
// and Dir set; units that do not number their files as [Unit] says are an error.
func (m *Image) Tracked(units []Unit) (*Image, error) {
	if len(units) == 0 {
		return nil, fmt.Errorf("device image: %w", ErrEmpty)
	}
	for i, u := range units {
		if err := u.CheckFiles(); err != nil {
			return nil, fmt.Errorf("device image, unit %d: %w", i, err)
		}
	}
	return newImage(slices.Clone(units), m.sequence), nil // newImage writes to its slice
}

// newImage takes units over. It sorts those of a set by digest.
func newImage(units []Unit, sequence bool) *Image {
	type digested struct {
		Unit
		Digest
	}
	all := make([]digested, 0, 1) // one, as there nearly always is, needs no allocation
	for _, u := range units {
		all = append(all, digested{u, u.Digest()})
	}
	if !sequence {
		slices.SortFunc(all, func(a, b digested) int { return bytes.Compare(a.Digest[:], b.Digest[:]) })
	}
	c := newCoder(tagImage)
	c.bool(&sequence)
	c.prefix(typeCount, uint64(len(units)))
	for i, u := range all {
		units[i] = u.Unit
		c.b = append(c.b, u.Digest[:]...)
	}
	return &Image{units, sequence, sha256.Sum256(c.b)}
}

// Units returns the units in the image's own order: the given one of a sequence. The
// caller must not change what they hold.
func (m *Image) Units() []Unit { return m.units }

// IsSequence reports whether the units are compiled each and linked in their order.
func (m *Image) IsSequence() bool { return m.sequence }

// Digest returns the image component of a key.
func (m *Image) Digest() Digest { return m.digest }

// Size returns the bytes of code in all units, headers not counted.
func (m *Image) Size() int64 {
	var n int64
	for _, u := range m.units {
		n += int64(len(u.Code))
	}
	return n
}

// ReadsFiles reports whether a unit was found to include anything.
func (m *Image) ReadsFiles() bool {
	return slices.ContainsFunc(m.units, func(u Unit) bool { return len(u.Includes) > 0 })
}

func (c *coder) image(m *Image) {
	c.bool(&m.sequence)
	sorted := func(a, b *Unit) bool {
		if m.sequence {
			return true
		}
		x, y := a.Digest(), b.Digest()
		return bytes.Compare(x[:], y[:]) <= 0
	}
	list(c, &m.units, unitBytes, sorted, (*coder).unit)
	if c.r == nil {
		return
	}
	if len(m.units) == 0 {
		c.r.Fail("device image: %w", ErrEmpty)
	}
	m.digest = newImage(m.units, m.sequence).digest
}
