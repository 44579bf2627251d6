package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/kernstash/kernstash/internal/wire"
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

	// How many of each there are.
	binaries, variants, kernels uint32
}

// BinaryInfo is a binary without its code.
type BinaryInfo struct {
	Form   store.Form
	Size   int64      // over 0
	Sum    uint64     // XXH64 of its code
	Digest key.Digest // SHA-256 of its code
}

// ParseFixed reads the fixed part of a header, b, from a file of size bytes: all but the lists.
// It checks everything but the digests, which need more than this part.
func ParseFixed(b []byte, size int64) (Header, error) {
	if err := checkPrefix(b, binMagic); err != nil {
		return Header{}, err
	}
	if len(b) < FixedBytes {
		return Header{}, ErrTruncated
	}
	le := binary.LittleEndian
	h := Header{
		HeaderBytes: int64(le.Uint32(b[12:])), Cost: time.Duration(le.Uint64(b[184:])), LogBytes: int64(le.Uint32(b[232:])),
		logDigest: key.Digest(b[200:232]), binaries: le.Uint32(b[236:]), variants: le.Uint32(b[240:]), kernels: le.Uint32(b[244:]),
	}
	for i, d := range []*key.Digest{&h.Key.Device, &h.Key.Image, &h.Key.Constants, &h.Key.Options, &h.Key.Sum} {
		copy(d[:], b[16+i*digestBytes:])
	}
	if created := le.Uint64(b[176:]); created != 0 {
		h.Created = time.Unix(0, int64(created)).UTC()
	}
	payload := le.Uint64(b[192:])
	switch {
	case h.HeaderBytes < minHeader || h.HeaderBytes > MaxHeader:
		return Header{}, malformed("header of %d bytes", h.HeaderBytes)
	case payload > MaxSize || size > MaxSize:
		return Header{}, malformed("%d bytes of payload in a file of %d", payload, size)
	case h.HeaderBytes+int64(payload) != size:
		return Header{}, ErrTruncated
	case h.Cost < 0:
		return Header{}, malformed("negative cost")
	case le.Uint64(b[248:]) != 0:
		return Header{}, malformed("reserved bytes are not zero")
	}
	h.PayloadBytes = int64(payload)
	return h, nil
}

// checkPrefix tells a file of ours, of this version, from others.
func checkPrefix(b []byte, magic string) error {
	if n := min(len(b), len(magic)); string(b[:n]) != magic[:n] {
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
	h, err := ParseFixed(b, size)
	if err != nil {
		return nil, err
	}
	if int64(len(b)) < h.HeaderBytes {
		return nil, ErrTruncated
	}
	body, digest := b[:h.HeaderBytes-digestBytes], b[h.HeaderBytes-digestBytes:h.HeaderBytes]
	if sha256.Sum256(body) != [digestBytes]byte(digest) {
		return nil, ErrDigest
	}
	// A copy: texts of the header may be kept for longer than the code.
	if err := h.parseLists(wire.NewReader(bytes.Clone(body[FixedBytes:]))); err != nil {
		return nil, malformed("%w", err)
	}
	return &h, nil
}

func (h *Header) parseLists(r *wire.Reader) error {
	code := h.LogBytes
	h.Binaries = make([]BinaryInfo, r.Count(uint64(h.binaries), binaryBytes))
	for i := range h.Binaries {
		form, zero, n := r.U32(), r.U32(), r.U64()
		sum, digest := r.U64(), r.Digest()
		if form < uint32(store.FormIntermediate) || form > uint32(store.FormFinal) || zero != 0 || n == 0 || n > MaxSize {
			r.Fail("binary %d", i)
		}
		code += int64(n)
		h.Binaries[i] = BinaryInfo{store.Form(form), int64(n), sum, digest}
	}
	if n := r.Count(uint64(h.variants), 4); n > 0 {
		h.Variants = make([]string, n)
		for i := range h.Variants {
			if h.Variants[i] = r.Text(); i > 0 && h.Variants[i-1] >= h.Variants[i] {
				r.Fail("variant %d is out of order", i)
			}
		}
	}
	if n := r.Count(uint64(h.kernels), 12); n > 0 {
		h.Kernels = make([]store.Kernel, n)
		for i := range h.Kernels {
			h.Kernels[i] = readKernel(r)
		}
	}
	switch {
	case len(h.Binaries) == 0:
		r.Fail("no code")
	case code != h.PayloadBytes:
		r.Fail("log and code are %d bytes, the payload %d", code, h.PayloadBytes)
	}
	return r.End()
}
