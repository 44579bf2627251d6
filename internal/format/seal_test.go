package format

import (
	"bytes"
	"errors"
	"testing"
)

// TestSealedSrc: a recipe with a seal is the recipe, and the seal is read without it.
func TestSealedSrc(t *testing.T) {
	t.Parallel()
	rec := testRecipe(t)
	plain, err := EncodeSrc(rec)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(n int) []byte {
		b, err := EncodeSealedSrc(rec, bytes.Repeat([]byte("s"), n))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	small := encode(300)
	for name, tt := range map[string]struct {
		b    []byte
		seal int // its length
		want error
	}{
		"no seal":                       {plain, 0, nil},
		"a seal":                        {small, 300, nil},
		"an empty one":                  {encode(0), 0, nil},
		"none where one is told of":     {small[:len(small)-300], 0, ErrTruncated},
		"the largest":                   {encode(MaxSeal), MaxSeal, nil},
		"a larger one":                  {append(encode(MaxSeal), 's'), 0, ErrTruncated},
		"one that is cut":               {small[:len(small)-1], 299, nil}, // whose signature says so
		"a recipe that is cut":          {small[:len(small)-301], 0, ErrTruncated},
		"a seal where none is told of":  {append(bytes.Clone(plain), "seal"...), 0, ErrTruncated},
		"a length that ends beyond all": {bytes.Join([][]byte{small[:16], bytes.Repeat([]byte{0xff}, 8), small[24:]}, nil), 0, ErrTruncated},
	} {
		seal, err := SrcSeal(bytes.NewReader(tt.b), int64(len(tt.b)))
		if len(seal) != tt.seal || !errors.Is(err, tt.want) {
			t.Errorf("%s: a seal of %d bytes, %v; want %d, %v", name, len(seal), err, tt.seal, tt.want)
		}
		r, err := DecodeSrc(tt.b)
		if !errors.Is(err, tt.want) || (err == nil) != (r != nil && r.Key() == rec.Key()) {
			t.Errorf("%s: recipe: %v, want %v", name, err, tt.want)
		}
		if OlderSrc(tt.b) {
			t.Errorf("%s: it is of an older version", name)
		}
	}
	if _, err := EncodeSealedSrc(rec, make([]byte, MaxSeal+1)); !errors.Is(err, ErrEncode) {
		t.Errorf("a seal that is too large: %v", err)
	}
}
