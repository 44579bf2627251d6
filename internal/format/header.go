package format

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

const (
	binMagic = "kstbin\r\n" // a transfer that changes line ends changes it

	// FixedBytes is the part of the header before the lists.
	FixedBytes = 256

	digestBytes = sha256.Size
	sumBytes    = 8
	binaryBytes = 16 + sumBytes + digestBytes
	minHeader   = FixedBytes + digestBytes

	// MaxHeader bounds the header with its lists.
	MaxHeader = 64 << 20
)

// Header is all of a .bin but the build log and the code.
type Header struct {
	Key      key.Key
	Created  time.Time // zero: not known
	Cost     time.Duration
	Binaries []BinaryInfo // at least one
	Variants []string     // sorted, each once
	Kernels  []store.Kernel

	LogBytes     int64
	HeaderBytes  int64
	PayloadBytes int64
	logDigest    key.Digest
}

// BinaryInfo is a binary without its code.
type BinaryInfo struct {
	Form   store.Form
	Size   int64      // over 0
	Sum    uint64     // XXH64 of its code
	Digest key.Digest // SHA-256 of its code
}

// Fixed is what the fixed part of a header tells, before its digest can be
// checked.
type Fixed struct {
	Key          key.Key
	Created      int64 // nanoseconds since 1970, 0: not known
	Cost         int64 // nanoseconds
	HeaderBytes  int64
	PayloadBytes int64
	LogDigest    key.Digest
	LogBytes     int64
	Binaries     uint32
	Variants     uint32
	Kernels      uint32
}

// ParseFixed reads the fixed part of a header, b, from a file of size bytes.
// It checks everything but the digests, which need more than this part.
func ParseFixed(b []byte, size int64) (Fixed, error) {
	var f Fixed
	if err := checkPrefix(b, binMagic); err != nil {
		return f, err
	}
	if len(b) < FixedBytes {
		return f, ErrTruncated
	}
	le := binary.LittleEndian
	f.HeaderBytes = int64(le.Uint32(b[12:]))
	for i, d := range []*key.Digest{&f.Key.Device, &f.Key.Image, &f.Key.Constants, &f.Key.Options, &f.Key.Sum} {
		copy(d[:], b[16+i*digestBytes:])
	}
	f.Created = int64(le.Uint64(b[176:]))
	cost, payload := le.Uint64(b[184:]), le.Uint64(b[192:])
	copy(f.LogDigest[:], b[200:])
	f.LogBytes = int64(le.Uint32(b[232:]))
	f.Binaries, f.Variants, f.Kernels = le.Uint32(b[236:]), le.Uint32(b[240:]), le.Uint32(b[244:])
	switch {
	case f.HeaderBytes < minHeader || f.HeaderBytes > MaxHeader:
		return f, malformed("header of %d bytes", f.HeaderBytes)
	case payload > MaxSize || size > MaxSize:
		return f, malformed("%d bytes of payload in a file of %d", payload, size)
	case f.HeaderBytes+int64(payload) != size:
		return f, ErrTruncated
	case int64(cost) < 0:
		return f, malformed("negative cost")
	case le.Uint64(b[248:]) != 0:
		return f, malformed("reserved bytes are not zero")
	}
	f.Cost, f.PayloadBytes = int64(cost), int64(payload)
	return f, nil
}

// checkPrefix tells a file of ours, of this version, from others.
func checkPrefix(b []byte, magic string) error {
	if len(b) < len(magic) && string(b) == magic[:len(b)] {
		return ErrTruncated
	}
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return ErrForeign
	}
	if len(b) < len(magic)+4 {
		return ErrTruncated
	}
	switch v := binary.LittleEndian.Uint32(b[len(magic):]); {
	case v < Version:
		return ErrOlder
	case v > Version:
		return ErrVersion
	}
	return nil
}

// ParseHeader reads the header at the start of b, which must hold all of it,
// from a file of size bytes, and checks its digest.
func ParseHeader(b []byte, size int64) (*Header, error) {
	f, err := ParseFixed(b, size)
	if err != nil {
		return nil, err
	}
	if int64(len(b)) < f.HeaderBytes {
		return nil, ErrTruncated
	}
	b = b[:f.HeaderBytes]
	body, digest := b[:len(b)-digestBytes], b[len(b)-digestBytes:]
	if sha256.Sum256(body) != [digestBytes]byte(digest) {
		return nil, ErrDigest
	}
	h := &Header{
		Key: f.Key, Cost: time.Duration(f.Cost), LogBytes: f.LogBytes,
		HeaderBytes: f.HeaderBytes, PayloadBytes: f.PayloadBytes, logDigest: f.LogDigest,
	}
	if f.Created != 0 {
		h.Created = time.Unix(0, f.Created).UTC()
	}
	return h, h.parseLists(body[FixedBytes:], f)
}

func (h *Header) parseLists(b []byte, f Fixed) error {
	r := listReader{rest: b, text: string(b)}
	code := uint64(f.LogBytes)
	h.Binaries = make([]BinaryInfo, r.count(f.Binaries, binaryBytes))
	for i := range h.Binaries {
		form, zero, n := r.u32(), r.u32(), r.u64()
		sum, digest := r.u64(), r.digest()
		if form < uint32(store.FormIntermediate) || form > uint32(store.FormFinal) || zero != 0 || n == 0 || n > MaxSize {
			r.fail("binary %d", i)
		}
		code += n
		h.Binaries[i] = BinaryInfo{store.Form(form), int64(n), sum, digest}
	}
	if n := r.count(f.Variants, 4); n > 0 {
		h.Variants = make([]string, n)
		for i := range h.Variants {
			if h.Variants[i] = r.str(); i > 0 && h.Variants[i-1] >= h.Variants[i] {
				r.fail("variant %d is out of order", i)
			}
		}
	}
	if n := r.count(f.Kernels, 12); n > 0 {
		h.Kernels = make([]store.Kernel, n)
		for i := range h.Kernels {
			h.Kernels[i] = r.kernel()
		}
	}
	switch {
	case r.err != nil:
		return r.err
	case len(r.rest) > 0:
		return malformed("%d bytes too many in the header", len(r.rest))
	case len(h.Binaries) == 0:
		return malformed("no code")
	case code != uint64(h.PayloadBytes):
		return malformed("log and code are %d bytes, the payload %d", code, h.PayloadBytes)
	}
	return nil
}
