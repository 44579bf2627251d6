package programs

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
)

// noise returns n repeatable values in [-1, 1).
func noise(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 0))
	v := make([]float32, n)
	for i := range v {
		v[i] = 2*r.Float32() - 1
	}
	return v
}

func floats(v ...float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func words(v ...uint32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

func readFloats(b []byte) []float64 {
	v := make([]float64, len(b)/4)
	for i := range v {
		v[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return v
}

// expect returns what verifies that the one output is what is wanted.
func expect(want []float64, tolerance float64) func([][]byte) (float64, error) {
	return func(out [][]byte) (float64, error) { return worst(readFloats(out[0]), want, tolerance) }
}

// worst returns the largest difference between two lists as a share of
// tolerance, NaN if there is one.
func worst(got, want []float64, tolerance float64) (float64, error) {
	if len(got) != len(want) {
		return 0, fmt.Errorf("%d values instead of %d", len(got), len(want))
	}
	var most float64
	for i, w := range want {
		d := math.Abs(got[i]-w) / tolerance
		if math.IsNaN(d) {
			return d, nil
		}
		most = max(most, d)
	}
	return most, nil
}
