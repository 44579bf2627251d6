package kernstash

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/live"
	"github.com/kernstash/kernstash/key"
)

// Request asks for a program. Its parts must not change while it is in use;
// the Request itself is small and passed by value.
type Request struct {
	// Image is what to build.
	Image *Image

	// Constants are the specialization constants, in any order, each id once.
	Constants []key.SpecConstant

	// CompileOptions and LinkOptions are given to the driver, behind those of
	// the image and of the environment.
	CompileOptions, LinkOptions string

	// Attributes are what a front end adds that is no option; the Runtime says
	// what they mean. They are in the key: in any order, but those of one name in
	// theirs. Of CUDA C++ that reads files the core decides which of
	// deps.SourceDirectory and deps.SourceParent are, by how what is built depends
	// on them.
	Attributes []key.Pair

	// Unkeyed are attributes that are in no key: the caller answers for it that
	// what is built is the same without them.
	Unkeyed []key.Pair

	// NoOptions says that there are no compile options at all, C's NULL, which
	// some drivers tell from an empty string: to PoCL they are two programs. It
	// means nothing where there are any, from whatever source.
	NoOptions bool

	// NoLinkOptions says the same of the link options. Where nothing is linked it means
	// nothing, and must not be set.
	NoLinkOptions bool

	// Devices are ordinals of the context's devices; none means all of them.
	Devices []int
}

// ErrInvalid is wrapped by errors about requests that make no sense.
var ErrInvalid = errors.New("invalid request")

const maxDevices = 64

// id returns the request's identity within a context of n devices. It does not
// allocate for requests whose constants, options and attributes fit 512 bytes, and are
// sorted.
func (r *Request) id(n int) (live.ID, error) {
	if r.Image == nil || r.Image.Image == nil {
		return live.ID{}, fmt.Errorf("%w: no image", ErrInvalid)
	}
	devices, err := r.deviceSet(n)
	if err != nil {
		return live.ID{}, err
	}
	var buf [640]byte
	b := append(buf[:0], "kernstash request\x00"...)
	digest := r.Image.Digest()
	b = append(b, digest[:]...)
	b = appendString(b, r.Image.CompileOptions)
	b = appendString(b, r.Image.LinkOptions)
	b = appendString(b, r.CompileOptions)
	b = appendString(b, r.LinkOptions)
	for _, is := range []bool{r.NoOptions, r.NoLinkOptions, len(r.Attributes)+len(r.Unkeyed) > 0} {
		if is {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	if len(r.Attributes)+len(r.Unkeyed) > 0 {
		b = appendAttributes(appendAttributes(b, r.Attributes), r.Unkeyed)
	}
	if dir := r.located(); dir != "" {
		b = appendString(b, dir)
	}
	sorted := r.Constants
	if !slices.IsSortedFunc(sorted, compareConstants) {
		sorted = slices.Clone(sorted)
		slices.SortFunc(sorted, compareConstants)
	}
	for i, c := range sorted {
		if i > 0 && sorted[i-1].ID == c.ID {
			return live.ID{}, fmt.Errorf("%w: specialization constant %d: %w", ErrInvalid, c.ID, key.ErrDuplicate)
		}
		b = binary.LittleEndian.AppendUint32(b, c.ID)
		b = binary.LittleEndian.AppendUint64(b, uint64(len(c.Value)))
		b = append(b, c.Value...)
	}
	return live.ID{What: sha256.Sum256(b), Devices: devices}, nil
}

// located returns the working directory where options say that it is in what is built; ""
// where they do not.
func (r *Request) located() string {
	for _, o := range [...]string{r.Image.CompileOptions, r.CompileOptions} {
		if mayLocate(o) && deps.KeepPaths(key.Tokens(o)) {
			dir, _ := os.Getwd()
			return dir
		}
	}
	return ""
}

// mayLocate reports whether options may have one that begins with -g and is not about an
// architecture. Unlike [key.Tokens] it allocates nothing.
func mayLocate(options string) bool {
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

// deviceSet returns the devices as bits.
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

func appendString(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

func compareConstants(a, b key.SpecConstant) int { return cmp.Compare(a.ID, b.ID) }

// private returns the id under which an image has a program to itself: one that
// reads what no key holds, so that another image of the same code may mean
// something else by it.
func private(id live.ID, image uint64) live.ID {
	var buf [64]byte
	b := append(append(buf[:0], "private\x00"...), id.What[:]...)
	id.What = sha256.Sum256(binary.LittleEndian.AppendUint64(b, image))
	return id
}

func appendAttributes(b []byte, attributes []key.Pair) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(len(attributes)))
	for _, a := range key.SortAttributes(attributes) {
		b = appendString(appendString(b, a.Name), a.Value)
	}
	return b
}

// snapshot returns the request with constants and attributes of its own: a build may go on
// when the caller who asked first has given up and uses its memory again.
func (r Request) snapshot() Request {
	own := make([]key.SpecConstant, len(r.Constants))
	for i, c := range r.Constants {
		own[i] = key.SpecConstant{ID: c.ID, Value: bytes.Clone(c.Value)}
	}
	r.Constants, r.Attributes, r.Unkeyed = own, slices.Clone(r.Attributes), slices.Clone(r.Unkeyed)
	return r
}
