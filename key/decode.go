package key

import (
	"errors"

	"github.com/kernstash/kernstash/internal/wire"
)

// ErrEncoding is wrapped by every error about bytes that are not a canonical
// encoding.
var ErrEncoding = errors.New("not a canonical encoding")

// ErrSchema is wrapped, too, where the encoding says that it is of another [Schema].
var ErrSchema = errors.New("another key schema")

// reader decodes the canonical encoding.
type reader struct{ *wire.Reader }

func (r reader) prefix(kind byte) uint64 {
	if b := r.Take(1); len(b) == 1 && b[0] != kind {
		r.Fail("type %q where %q belongs", b[0], kind)
	}
	return r.U64()
}

func (r reader) text() string { return string(r.Take(r.prefix(typeText))) }

func (r reader) bytes() []byte { return r.Take(r.prefix(typeBytes)) }

func (r reader) uint(most uint64) uint64 {
	n := r.prefix(typeUint)
	if n > most {
		r.Fail("number %d over %d", n, most)
		return 0
	}
	return n
}

func (r reader) bool() bool { return r.uint(1) == 1 }

// count reads the length of a list whose elements take at least size bytes.
func (r reader) count(size int) int { return r.Count(r.prefix(typeCount), size) }

// literal consumes a domain tag.
func (r reader) literal(tag string) {
	if string(r.Take(uint64(len(tag)))) != tag {
		r.Fail("no %q tag", tag)
	}
}

// RecipeSchema returns the key schema of a recipe whose encoding starts with b; ok is
// false where it does not say.
func RecipeSchema(b []byte) (schema uint64, ok bool) {
	r := reader{wire.NewReader(b)}
	r.literal(tagRecipe)
	schema = r.uint(1 << 31)
	return schema, r.Err() == nil
}
