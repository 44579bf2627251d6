package key

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrEncoding is wrapped by every error about bytes that are not a canonical
// encoding.
var ErrEncoding = errors.New("not a canonical encoding")

// ErrSchema is wrapped, too, where the encoding says that it is of another [Schema].
var ErrSchema = errors.New("another key schema")

// reader decodes the canonical encoding. The first failure sticks, and every
// later read returns a zero value, so a caller checks err once. Nothing is
// allocated on the word of a length alone: each is bounded by what is left.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %w", ErrEncoding, err)
		r.rest = nil
	}
}

func (r *reader) prefix(kind byte) uint64 {
	if r.err != nil {
		return 0
	}
	if len(r.rest) < prefixBytes {
		r.fail(fmt.Errorf("%d bytes left, a value starts with %d", len(r.rest), prefixBytes))
		return 0
	}
	if r.rest[0] != kind {
		r.fail(fmt.Errorf("type %q where %q belongs", r.rest[0], kind))
		return 0
	}
	n := binary.LittleEndian.Uint64(r.rest[1:])
	r.rest = r.rest[prefixBytes:]
	return n
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail(fmt.Errorf("length %d with %d bytes left", n, len(r.rest)))
		return nil
	}
	v := r.rest[:n:n]
	r.rest = r.rest[n:]
	return v
}

func (r *reader) text() string { return string(r.take(r.prefix(typeText))) }

func (r *reader) bytes() []byte { return r.take(r.prefix(typeBytes)) }

func (r *reader) uint(most uint64) uint64 {
	n := r.prefix(typeUint)
	if n > most {
		r.fail(fmt.Errorf("number %d over %d", n, most))
		return 0
	}
	return n
}

func (r *reader) bool() bool { return r.uint(1) == 1 }

// count reads the length of a list whose elements take at least size bytes.
func (r *reader) count(size int) int {
	n := r.prefix(typeCount)
	if n > uint64(len(r.rest)/size) {
		r.fail(fmt.Errorf("%d elements in %d bytes", n, len(r.rest)))
		return 0
	}
	return int(n)
}

// literal consumes a domain tag.
func (r *reader) literal(tag string) {
	if r.err != nil {
		return
	}
	if len(r.rest) < len(tag) || string(r.rest[:len(tag)]) != tag {
		r.fail(fmt.Errorf("no %q tag", tag))
		return
	}
	r.rest = r.rest[len(tag):]
}

// RecipeSchema returns the key schema of a recipe whose encoding starts with b; ok is
// false where it does not say.
func RecipeSchema(b []byte) (schema uint64, ok bool) {
	r := reader{rest: b}
	r.literal(tagRecipe)
	schema = r.uint(1 << 31)
	return schema, r.err == nil
}
