// Package format is the encoding of the files of the disk tier: .bin, an artifact, and
// .src, the recipe it was built from. docs/FORMAT.md specifies every byte.
//
// Decoding is strict: what is accepted would be encoded to the same bytes. Every length is
// checked against what is there before anything is allocated, and nothing is returned whose
// digest does not match. Decoded values share memory with the input where they can.
package format

import (
	"errors"
	"fmt"
)

// Version is the format version of both files that this package writes and reads.
const Version = 4

// MaxSize is the largest file, in bytes.
const MaxSize = 4 << 30

// Why bytes are refused. Every error of a decoder wraps one of these.
var (
	ErrTruncated = errors.New("shorter or longer than its header says")
	ErrForeign   = errors.New("not a kernstash file")
	ErrVersion   = errors.New("of another version of kernstash")
	ErrDigest    = errors.New("bytes differ from their digest")
	ErrMalformed = errors.New("malformed")
)

// ErrOlder is wrapped, as ErrVersion is, for an older version.
var ErrOlder = errors.New("an older one")

// ErrEncode is wrapped for an artifact that has no encoding.
var ErrEncode = errors.New("cannot be encoded")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrMalformed, fmt.Errorf(format, args...))
}
