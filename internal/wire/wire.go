// Package wire reads numbers, texts and lists that stand one after the other in bytes, numbers
// little-endian, and refuses what does not fit.
package wire

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// A Reader reads from the front of bytes. The first failure sticks and empties the rest, and
// every later read returns a zero value, so a caller asks once, in the end. Nothing is
// allocated on the word of a length alone: each is bounded by what is left.
type Reader struct {
	rest []byte
	err  error
}

// NewReader returns a Reader of b. What it returns lies in b, which must not be changed.
func NewReader(b []byte) *Reader { return &Reader{rest: b} }

// Fail notes an error, as fmt.Errorf makes it, unless there is one.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
		r.rest = nil
	}
}

// Err returns the error that was noted.
func (r *Reader) Err() error { return r.err }

// End is Err for a caller who has read all: bytes that are left are an error.
func (r *Reader) End() error {
	if len(r.rest) > 0 {
		r.Fail("%d bytes too many", len(r.rest))
	}
	return r.err
}

// Take reads n bytes.
func (r *Reader) Take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.Fail("length %d with %d bytes left", n, len(r.rest))
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// U32 reads a number of four bytes.
func (r *Reader) U32() uint32 {
	if b := r.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 reads a number of eight bytes.
func (r *Reader) U64() uint64 {
	if b := r.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Digest reads a SHA-256.
func (r *Reader) Digest() (d [32]byte) {
	copy(d[:], r.Take(uint64(len(d))))
	return d
}

// Text reads a text behind its length, a U32.
func (r *Reader) Text() string {
	b := r.Take(uint64(r.U32()))
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Count returns n, the length of a list whose elements take at least size bytes each; 0 where
// less is left.
func (r *Reader) Count(n uint64, size int) int {
	if n > uint64(len(r.rest)/size) {
		r.Fail("%d elements in %d bytes", n, len(r.rest))
		return 0
	}
	return int(n)
}

// AppendText appends what Text reads.
func AppendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
}
