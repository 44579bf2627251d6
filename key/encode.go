package key

import "encoding/binary"

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

func appendPrefix(b []byte, kind byte, n uint64) []byte {
	return binary.LittleEndian.AppendUint64(append(b, kind), n)
}

func appendText(b []byte, s string) []byte {
	return append(appendPrefix(b, typeText, uint64(len(s))), s...)
}

func appendBytes(b, v []byte) []byte {
	return append(appendPrefix(b, typeBytes, uint64(len(v))), v...)
}

func appendCount(b []byte, n int) []byte { return appendPrefix(b, typeCount, uint64(n)) }

func appendUint(b []byte, n uint64) []byte { return appendPrefix(b, typeUint, n) }
