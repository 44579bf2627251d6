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

var kindNames = map[Kind]string{
	OpenCLC: "OpenCL C", SPIRV: "SPIR-V", CUDACpp: "CUDA C++",
	PTX: "PTX", HIPCpp: "HIP C++", Opaque: "opaque",
}

func (k Kind) String() string {
	if s, ok := kindNames[k]; ok {
		return s
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// MarshalText writes the name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Header is a header that a unit includes: the name as the source writes it,
// and the content.
type Header struct {
	Name    string
	Content []byte
}

// Unit is one translation unit: code, the headers that are given with it by
// name, and the header files that it was found to read.
type Unit struct {
	Kind    Kind
	Code    []byte
	Headers []Header

	// Includes are the including lines of Code, in order, and Files what they
	// and the lines of those files lead to, in the order in which they are
	// first reached, depth first.
	Includes []Include
	Files    []File

	// Dir is the working directory; set only where what is built depends on
	// paths (__FILE__, -g). Then it and the paths of Files are in the key.
	Dir string
}

// Include is what an including line leads to.
type Include struct {
	Name string // as written or as it expands, with its delimiters: "a.h" or <a.h>
	File int    // index in Unit.Files; -1: there is no such file
}

// File is a header file that a unit reads. Its content is kept once for all
// recipes, by digest.
type File struct {
	Path     string // absolute; where it was
	Digest   Digest // SHA-256 of its content
	Size     int64
	Includes []Include
}

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
// the same order, so what is built does not depend on the order either.
func NewImageSet(units ...Unit) (*Image, error) {
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
	return newImage(own), nil
}

// newImage takes units over. It sorts them by digest.
func newImage(units []Unit) *Image {
	type digested struct {
		Unit
		Digest
	}
	all := make([]digested, len(units))
	for i, u := range units {
		all[i] = digested{u, u.digest()}
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

func (u Unit) digest() Digest {
	h := sha256.New()
	var buf [128]byte
	b := append(buf[:0], tagUnit...)
	b = appendUint(b, uint64(u.Kind))
	b = appendPrefix(b, typeBytes, uint64(len(u.Code)))
	h.Write(b)
	h.Write(u.Code)
	b = appendCount(buf[:0], len(u.Headers))
	for _, hd := range u.Headers {
		content := sha256.Sum256(hd.Content)
		b = append(appendText(b, hd.Name), content[:]...)
	}
	h.Write(b)
	return Digest(h.Sum(nil))
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

func (m *Image) append(b []byte) []byte {
	b = appendCount(b, len(m.units))
	for _, u := range m.units {
		b = appendUint(b, uint64(u.Kind))
		b = appendBytes(b, u.Code)
		b = appendCount(b, len(u.Headers))
		for _, h := range u.Headers {
			b = appendText(b, h.Name)
			b = appendBytes(b, h.Content)
		}
	}
	return b
}

func (r *reader) image() *Image {
	n := r.count(3 * prefixBytes)
	units := make([]Unit, n)
	for i := range units {
		u := &units[i]
		u.Kind = Kind(r.uint(255))
		u.Code = r.bytes()
		u.Headers = make([]Header, r.count(2*prefixBytes))
		for j := range u.Headers {
			u.Headers[j] = Header{r.text(), r.bytes()}
			if j > 0 && r.err == nil && u.Headers[j-1].Name >= u.Headers[j].Name {
				r.fail(fmt.Errorf("header %q is out of order", u.Headers[j].Name))
			}
		}
		if r.err == nil && len(u.Code) == 0 {
			r.fail(fmt.Errorf("unit %d: %w", i, ErrEmpty))
		}
	}
	if r.err == nil && n == 0 {
		r.fail(fmt.Errorf("device image: %w", ErrEmpty))
	}
	if r.err != nil {
		return nil
	}
	var before Digest
	for i, u := range units {
		d := u.digest()
		if i > 0 && bytes.Compare(before[:], d[:]) > 0 {
			r.fail(fmt.Errorf("unit %d is out of order", i))
			return nil
		}
		before = d
	}
	return newImage(units)
}
