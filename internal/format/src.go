package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

const (
	srcMagic = "kstsrc\r\n"

	// SrcHeaderBytes is the length of the header of a .src.
	SrcHeaderBytes = 56
)

// EncodeSrc encodes a recipe.
func EncodeSrc(r *key.Recipe) ([]byte, error) {
	b := make([]byte, SrcHeaderBytes, SrcHeaderBytes+1024+r.Image.Size())
	b = r.Append(b)
	if int64(len(b)) > MaxSize {
		return nil, fmt.Errorf("recipe of %d bytes: %w: %w", len(b), ErrEncode, store.ErrTooLarge)
	}
	body := b[SrcHeaderBytes:]
	copy(b, srcMagic)
	binary.LittleEndian.PutUint32(b[8:], Version)
	binary.LittleEndian.PutUint32(b[12:], SrcHeaderBytes)
	binary.LittleEndian.PutUint64(b[16:], uint64(len(body)))
	sum := sha256.Sum256(body)
	copy(b[24:], sum[:])
	return b, nil
}

// CheckSrc checks the first bytes of a .src of size bytes, at least its header
// where there is one: all but the digest.
func CheckSrc(b []byte, size int64) error {
	if err := checkPrefix(b, srcMagic); err != nil {
		return err
	}
	if len(b) < SrcHeaderBytes {
		return ErrTruncated
	}
	if n := binary.LittleEndian.Uint32(b[12:]); n != SrcHeaderBytes {
		return malformed("header of %d bytes", n)
	}
	n := binary.LittleEndian.Uint64(b[16:])
	if size > MaxSize || n != uint64(size-SrcHeaderBytes) {
		return ErrTruncated
	}
	return nil
}

// SrcStart is how many bytes of a .src tell its versions.
const SrcStart = 128

// OlderSrc reports whether a .src that starts with b is of an older version, by its
// format or by its key schema.
func OlderSrc(b []byte) bool {
	if err := checkPrefix(b, srcMagic); err != nil || len(b) < SrcHeaderBytes {
		return errors.Is(err, ErrOlder)
	}
	schema, ok := key.RecipeSchema(b[SrcHeaderBytes:])
	return ok && schema < key.Schema
}

// CheckSrcDigest reads a recipe to its end and checks it against the digest in
// its header, which [CheckSrc] was content with.
func CheckSrcDigest(header []byte, recipe io.Reader) error {
	h := sha256.New()
	if _, err := io.CopyBuffer(h, recipe, make([]byte, 64<<10)); err != nil {
		return err
	}
	if !bytes.Equal(h.Sum(nil), header[24:SrcHeaderBytes]) {
		return ErrDigest
	}
	return nil
}

// DecodeSrc reads a whole .src and checks its digest. The recipe shares memory with b.
func DecodeSrc(b []byte) (*key.Recipe, error) {
	if err := CheckSrc(b, int64(len(b))); err != nil {
		return nil, err
	}
	body := b[SrcHeaderBytes:]
	if err := CheckSrcDigest(b, bytes.NewReader(body)); err != nil {
		return nil, err
	}
	return parseRecipe(body)
}

// parseRecipe reads a recipe. One of another key schema is of another version.
func parseRecipe(b []byte) (*key.Recipe, error) {
	r, err := key.ParseRecipe(b)
	switch {
	case errors.Is(err, key.ErrSchema):
		return nil, fmt.Errorf("%w: %w", ErrVersion, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return r, nil
}
