package key

import (
	"encoding/binary"
	"errors"

	"github.com/kernstash/kernstash/internal/wire"
)

// The canonical encoding. Each value is a type byte, a little-endian uint64
// (a length in bytes, a count, or the number itself) and, for text and bytes,
// that many bytes. docs/FORMAT.md holds the specification.
const (
	typeText  = 't'
	typeBytes = 'b'
	typeCount = 'n'
	typeUint  = 'u'

	prefixBytes = 1 + 8
)

// Domain tags keep digests of different things apart. Each is NUL-terminated,
// so none is a prefix of another.
const (
	tagKey       = "kernstash key\x00"
	tagDevice    = "kernstash device\x00"
	tagUnit      = "kernstash unit\x00"
	tagImage     = "kernstash image\x00"
	tagConstants = "kernstash constants\x00"
	tagOptions   = "kernstash options\x00"
	tagRecipe    = "kernstash recipe\x00"
)

// ErrEncoding is wrapped by every error about bytes that are not a canonical
// encoding.
var ErrEncoding = errors.New("not a canonical encoding")

// ErrSchema is wrapped, too, where the encoding says that it is of another [Schema].
var ErrSchema = errors.New("another key schema")

// coder writes the canonical encoding, or reads it: what a type consists of is said once. What
// it writes it only looks at.
type coder struct {
	b []byte       // what was written
	r *wire.Reader // what is read; nil: it writes
}

// newCoder returns a coder that writes, after a tag. Most requests fit into what it begins with:
// growing to that in steps takes as long as hashing 1 KiB.
func newCoder(tag string) *coder { return &coder{b: append(make([]byte, 0, 160), tag...)} }

// prefix writes, or reads, the type byte of a value, and its number.
func (c *coder) prefix(kind byte, n uint64) uint64 {
	if c.r == nil {
		c.b = binary.LittleEndian.AppendUint64(append(c.b, kind), n)
		return n
	}
	if b := c.r.Take(1); len(b) == 1 && b[0] != kind {
		c.r.Fail("type %q where %q belongs", b[0], kind)
	}
	return c.r.U64()
}

func (c *coder) text(s *string) {
	n := c.prefix(typeText, uint64(len(*s)))
	if c.r == nil {
		c.b = append(c.b, *s...)
		return
	}
	*s = string(c.r.Take(n))
}

func (c *coder) bytes(v *[]byte) {
	n := c.prefix(typeBytes, uint64(len(*v)))
	if c.r == nil {
		c.b = append(c.b, *v...)
		return
	}
	*v = c.r.Take(n)
}

// number codes a number up to most.
func number[T ~uint8 | ~uint32 | ~int | ~int64](c *coder, v *T, most uint64) {
	if c.r == nil {
		c.prefix(typeUint, uint64(*v))
		return
	}
	n := c.prefix(typeUint, 0)
	if n > most {
		c.r.Fail("number %d over %d", n, most)
		n = 0
	}
	*v = T(n)
}

func (c *coder) bool(v *bool) {
	var n uint8
	if *v {
		n = 1
	}
	number(c, &n, 1)
	if c.r != nil {
		*v = n == 1
	}
}

func (c *coder) digest(d *Digest) {
	b := d[:]
	if c.bytes(&b); len(b) != len(d) {
		c.r.Fail("a digest of %d bytes", len(b))
	}
	if c.r != nil {
		copy(d[:], b)
	}
}

// list codes a list of elements that take at least size bytes each. Where it reads, an empty one
// is nil, and sorted, which may be nil, says whether two neighbours may be in their order.
func list[T any](c *coder, all *[]T, size int, sorted func(a, b *T) bool, element func(c *coder, v *T)) {
	n := c.prefix(typeCount, uint64(len(*all)))
	if c.r != nil {
		*all = nil
		if n := c.r.Count(n, size); n > 0 {
			*all = make([]T, n)
		}
	}
	for i := range *all {
		element(c, &(*all)[i])
		if c.r != nil && sorted != nil && i > 0 && !sorted(&(*all)[i-1], &(*all)[i]) {
			c.r.Fail("element %d of a list is out of order", i)
		}
	}
}

func (c *coder) words(all *[]string) { list(c, all, prefixBytes, nil, (*coder).text) }

// literal codes a domain tag.
func (c *coder) literal(tag string) {
	switch {
	case c.r == nil:
		c.b = append(c.b, tag...)
	case string(c.r.Take(uint64(len(tag)))) != tag:
		c.r.Fail("no %q tag", tag)
	}
}
