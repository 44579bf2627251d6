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

	// sealedVersion is that of a .src behind whose recipe a seal stands. Those who know no seals leave it alone.
	sealedVersion = Version | 1<<8

	// MaxSeal bounds a seal.
	MaxSeal = 8 << 10
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

// EncodeSealedSrc encodes a recipe with a seal behind it, if there is one: what says who signed the entry.
func EncodeSealedSrc(r *key.Recipe, seal []byte) ([]byte, error) {
	b, err := EncodeSrc(r)
	if len(seal) == 0 {
		return b, err
	}
	if err == nil && len(seal) > MaxSeal {
		err = fmt.Errorf("seal of %d bytes: %w", len(seal), ErrEncode)
	}
	if err != nil {
		return nil, err
	}
	binary.LittleEndian.PutUint32(b[8:], sealedVersion)
	return append(b, seal...), nil
}

// SrcSeal reads the seal of a .src of size bytes; nil: there is none.
func SrcSeal(src io.ReaderAt, size int64) ([]byte, error) {
	header := make([]byte, min(size, SrcHeaderBytes))
	if _, err := src.ReadAt(header, 0); err != nil {
		return nil, err
	}
	if err := CheckSrc(header, size); err != nil || maxSealOf(header) == 0 {
		return nil, err
	}
	at := SrcHeaderBytes + recipeBytes(header)
	b := make([]byte, size-at)
	_, err := src.ReadAt(b, at)
	return b, err
}

// maxSealOf returns how many bytes of a seal may stand behind a recipe.
func maxSealOf(header []byte) int64 {
	if binary.LittleEndian.Uint32(header[8:]) == sealedVersion {
		return MaxSeal
	}
	return 0
}

// recipeBytes returns the length of the recipe that a header which was checked tells.
func recipeBytes(header []byte) int64 { return int64(binary.LittleEndian.Uint64(header[16:])) }

// CheckSrc checks the first bytes of a .src of size bytes, at least its header
// where there is one: all but the digest.
func CheckSrc(b []byte, size int64) error {
	if err := checkSrcPrefix(b); err != nil {
		return err
	}
	if len(b) < SrcHeaderBytes {
		return ErrTruncated
	}
	if n := binary.LittleEndian.Uint32(b[12:]); n != SrcHeaderBytes {
		return malformed("header of %d bytes", n)
	}
	n, rest := binary.LittleEndian.Uint64(b[16:]), uint64(size-SrcHeaderBytes)
	most := uint64(maxSealOf(b))
	if n > rest || n > MaxSize-SrcHeaderBytes || rest-n > most || rest == n && most > 0 {
		return ErrTruncated
	}
	return nil
}

func checkSrcPrefix(b []byte) error {
	err := checkPrefix(b, srcMagic)
	if errors.Is(err, ErrVersion) && len(b) >= 12 && binary.LittleEndian.Uint32(b[8:]) == sealedVersion {
		return nil
	}
	return err
}

// SrcStart is how many bytes of a .src tell its versions.
const SrcStart = 128

// OlderSrc reports whether a .src that starts with b is of an older version, by its
// format or by its key schema.
func OlderSrc(b []byte) bool {
	if err := checkSrcPrefix(b); err != nil || len(b) < SrcHeaderBytes {
		return errors.Is(err, ErrOlder)
	}
	schema, ok := key.RecipeSchema(b[SrcHeaderBytes:])
	return ok && schema < key.Schema
}

// CheckSrcDigest reads a recipe and checks it against the digest in its header, which
// [CheckSrc] was content with. What stands behind the recipe is not read.
func CheckSrcDigest(header []byte, recipe io.Reader) error {
	h := sha256.New()
	if _, err := io.CopyBuffer(h, io.LimitReader(recipe, recipeBytes(header)), make([]byte, 64<<10)); err != nil {
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
	body := b[SrcHeaderBytes:][:recipeBytes(b)]
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
