package key

import (
	"crypto/sha256"
	"testing"
)

func benchRecipe(b *testing.B) (*Recipe, []byte) {
	code := make([]byte, 4096)
	for i := range code {
		code[i] = byte(i)
	}
	img, err := NewImage(OpenCLC, code)
	if err != nil {
		b.Fatal(err)
	}
	r := fullRecipe(b)
	r.Image, r.Constants = img, nil
	r.Options = NewOptions("-DN=4 -cl-fast-relaxed-math -cl-std=CL1.2", "")
	return r, code
}

// BenchmarkKey4KiB makes the key of a 4 KiB source with options, as for a
// request that was never seen; the device's digest is at hand.
func BenchmarkKey4KiB(b *testing.B) {
	r, code := benchRecipe(b)
	device := r.Device.Digest()
	b.ReportAllocs()
	for b.Loop() {
		img, err := NewImage(OpenCLC, code)
		if err != nil {
			b.Fatal(err)
		}
		o := NewOptions("-DN=4 -cl-fast-relaxed-math -cl-std=CL1.2", "")
		_ = New(device, img.Digest(), r.Constants.Digest(), o.Digest())
	}
}

// BenchmarkSHA4KiB is the floor: the hash of the source alone.
func BenchmarkSHA4KiB(b *testing.B) {
	_, code := benchRecipe(b)
	b.ReportAllocs()
	for b.Loop() {
		_ = sha256.Sum256(code)
	}
}
