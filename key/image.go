package key

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/pages"
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

// Image is the device image of a build: one unit, or several that are compiled
// and linked together, in any order. It is a snapshot: code and headers are
// copied when it is made. Make it with [NewImage] or [NewImageSet].
type Image struct {
	units  []Unit
	digest Digest
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
// takes code and headers; see [NewTrackedImage] for the rest of a unit.
func NewImageSet(units ...Unit) (*Image, error) {
	if len(units) == 0 {
		return nil, fmt.Errorf("device image: %w", ErrEmpty)
	}
	own := make([]Unit, len(units))
	for i, u := range units {
		if len(u.Code) == 0 {
			return nil, fmt.Errorf("device image, unit %d: %w", i, ErrEmpty)
		}
		own[i] = Unit{Kind: u.Kind, Code: pages.Clone(u.Code), Headers: make([]Header, len(u.Headers))}
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
	return newImage(own), nil
}

// NewTrackedImage returns the image of units that were found to read header
// files. It takes the units over, which must be those of an image with
// Includes, Files and Dir set; units that do not number their files as [Unit]
// says are an error.
func NewTrackedImage(units []Unit) (*Image, error) {
	if len(units) == 0 {
		return nil, fmt.Errorf("device image: %w", ErrEmpty)
	}
	for i, u := range units {
		if err := u.checkFiles(); err != nil {
			return nil, fmt.Errorf("device image, unit %d: %w", i, err)
		}
	}
	return newImage(units), nil
}

// newImage takes units over. It sorts them by digest.
func newImage(units []Unit) *Image {
	type digested struct {
		Unit
		Digest
	}
	all := make([]digested, len(units))
	for i, u := range units {
		all[i] = digested{u, u.Digest()}
	}
	slices.SortFunc(all, func(a, b digested) int { return bytes.Compare(a.Digest[:], b.Digest[:]) })
	var buf [256]byte
	b := appendCount(append(buf[:0], tagImage...), len(units))
	for i, u := range all {
		units[i] = u.Unit
		b = append(b, u.Digest[:]...)
	}
	return &Image{units, sha256.Sum256(b)}
}

// Units returns the units in the image's own order. The caller must not change
// what they hold.
func (m *Image) Units() []Unit { return m.units }

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

// ReadsFiles says whether a unit was found to include anything.
func (m *Image) ReadsFiles() bool {
	return slices.ContainsFunc(m.units, func(u Unit) bool { return len(u.Includes) > 0 })
}

func (m *Image) append(b []byte) []byte {
	b = appendCount(b, len(m.units))
	for _, u := range m.units {
		b = u.append(b)
	}
	return b
}

func (r *reader) image() *Image {
	units := make([]Unit, r.count(unitBytes))
	var before Digest
	for i := range units {
		u := r.unit()
		if r.err != nil {
			return nil
		}
		d := u.Digest()
		if i > 0 && bytes.Compare(before[:], d[:]) > 0 {
			r.fail(fmt.Errorf("unit %d is out of order", i))
			return nil
		}
		units[i], before = u, d
	}
	if len(units) == 0 {
		r.fail(fmt.Errorf("device image: %w", ErrEmpty))
		return nil
	}
	return newImage(units)
}
