package format

import (
	"encoding/binary"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// listReader reads the lists of a header. The first failure sticks and empties
// the rest. text holds the same bytes as the whole of what it started with:
// all strings are parts of this one allocation.
type listReader struct {
	rest []byte
	text string
	err  error
}

func (r *listReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = malformed(format, args...)
	}
	r.rest = nil
}

func (r *listReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail("length %d with %d bytes left", n, len(r.rest))
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *listReader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *listReader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *listReader) digest() (d key.Digest) {
	copy(d[:], r.take(digestBytes))
	return d
}

func (r *listReader) str() string {
	n := r.u32()
	at := len(r.text) - len(r.rest)
	if r.take(uint64(n)); r.err != nil {
		return ""
	}
	return r.text[at : at+int(n)]
}

// count bounds the length of a list whose elements take at least size bytes.
func (r *listReader) count(n uint32, size int) int {
	if uint64(n) > uint64(len(r.rest)/size) {
		r.fail("%d elements in %d bytes", n, len(r.rest))
		return 0
	}
	return int(n)
}

func (r *listReader) kernel() store.Kernel {
	k := store.Kernel{Name: r.str(), Attributes: r.str()}
	if n := r.count(r.u32(), argBytes); n > 0 {
		k.Args = make([]store.Arg, n)
		for i := range k.Args {
			k.Args[i] = store.Arg{
				Name: r.str(), TypeName: r.str(), Address: r.u64(), Access: r.u64(), TypeQual: r.u64(),
			}
		}
	}
	return k
}

// argBytes is the least that an argument takes: two empty strings, three
// numbers.
const argBytes = 2*4 + 3*8

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
}

func appendKernel(b []byte, k store.Kernel) []byte {
	b = appendText(appendText(b, k.Name), k.Attributes)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(k.Args)))
	for _, a := range k.Args {
		b = appendText(appendText(b, a.Name), a.TypeName)
		b = binary.LittleEndian.AppendUint64(b, a.Address)
		b = binary.LittleEndian.AppendUint64(b, a.Access)
		b = binary.LittleEndian.AppendUint64(b, a.TypeQual)
	}
	return b
}
