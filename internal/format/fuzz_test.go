package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/kernstash/kernstash/store"
)

// reseal makes the digests of a .bin right, so that the fuzzer gets past them.
func reseal(b []byte) {
	f, err := ParseFixed(b, int64(len(b)))
	if err != nil || f.HeaderBytes > int64(len(b)) {
		return
	}
	code := b[f.HeaderBytes:]
	seal := func(at, size int64, isBinary bool) {
		if size < 0 || size > int64(len(code)) || at > f.HeaderBytes-2*digestBytes {
			return
		}
		if isBinary {
			binary.LittleEndian.PutUint64(b[at-sumBytes:], sumOf(code[:size]))
		}
		digest := sha256.Sum256(code[:size])
		copy(b[at:], digest[:])
		code = code[size:]
	}
	seal(200, f.LogBytes, false)
	for at := int64(FixedBytes); at < FixedBytes+binaryBytes*int64(f.binaries) && at+binaryBytes <= f.HeaderBytes; at += binaryBytes {
		seal(at+16+sumBytes, int64(binary.LittleEndian.Uint64(b[at+8:])), true)
	}
	header := sha256.Sum256(b[:f.HeaderBytes-digestBytes])
	copy(b[f.HeaderBytes-digestBytes:], header[:])
}

// FuzzBin: what is accepted is encoded to the same bytes.
func FuzzBin(f *testing.F) {
	k := testRecipe(f).Key()
	f.Add(encode(f, k, testArtifact()))
	f.Add(encode(f, k, &store.Artifact{Binaries: []store.Binary{{Form: store.FormFinal, Data: []byte{0}}}}))
	f.Add([]byte(binMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(b)
		reseal(b)
		h, a, err := DecodeBin(b)
		if err != nil {
			return
		}
		if !bytes.Equal(encode(t, h.Key, a), b) {
			t.Error("another encoding of the same artifact was accepted")
		}
	})
}

// FuzzSrc: likewise.
func FuzzSrc(f *testing.F) {
	whole, err := EncodeSrc(testRecipe(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	sealed, err := EncodeSealedSrc(testRecipe(f), []byte("a seal"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(b)
		if len(b) > SrcHeaderBytes {
			n := min(binary.LittleEndian.Uint64(b[16:]), uint64(len(b)-SrcHeaderBytes))
			sum := sha256.Sum256(b[SrcHeaderBytes:][:n])
			copy(b[24:], sum[:])
		}
		rec, err := DecodeSrc(b)
		if err != nil {
			return
		}
		seal, err := SrcSeal(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Errorf("its seal: %v", err)
		}
		if again, err := EncodeSealedSrc(rec, seal); err != nil || !bytes.Equal(again, b) {
			t.Error("another encoding of the same recipe was accepted")
		}
	})
}
