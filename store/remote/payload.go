package remote

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// pack returns what the object of an entry holds before it is compressed: the length of the .bin, the
// .bin and the .src, and the digest of the .bin. The recipe must be without places.
func pack(k key.Key, a *store.Artifact, r *key.Recipe) (b []byte, sum key.Digest, err error) {
	bin, err := format.EncodeBin(k, a)
	if err != nil {
		return nil, sum, err
	}
	src, err := format.EncodeSrc(r)
	if err != nil {
		return nil, sum, err
	}
	b = make([]byte, 0, 8+bin.Size+int64(len(src)))
	b = binary.LittleEndian.AppendUint64(b, uint64(bin.Size))
	for _, p := range bin.Parts {
		b = append(b, p...)
	}
	sum = sha256.Sum256(b[8:])
	return append(b, src...), sum, nil
}

// unpack reads what pack returns, for an entry of k; the recipe only where it is wanted. What it
// returns shares memory with b.
func unpack(b []byte, k key.Key, withRecipe bool) (*store.Entry, error) {
	if len(b) < 8 {
		return nil, format.ErrTruncated
	}
	n := binary.LittleEndian.Uint64(b)
	if b = b[8:]; n > uint64(len(b)) {
		return nil, format.ErrTruncated
	}
	h, a, err := format.DecodeBin(b[:n:n])
	switch {
	case err != nil:
		return nil, err
	case h.Key != k:
		return nil, errName
	}
	e := &store.Entry{Key: k, Artifact: a}
	if !withRecipe {
		return e, nil
	}
	if e.Recipe, err = format.DecodeSrc(b[n:]); err != nil {
		return nil, err
	}
	if e.Recipe.Key() != k {
		return nil, errName
	}
	return e, nil
}
