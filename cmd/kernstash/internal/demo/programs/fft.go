package programs

import (
	"math"
	"math/cmplx"
)

const (
	fftPoints  = 1024
	fftGroup   = 64
	fftSignals = 4
)

// fft transforms some signals.
func fft() problem {
	const values = 2 * fftPoints * fftSignals
	in := noise(6, values)
	want := make([]float64, 0, values)
	for s := range fftSignals {
		signal := make([]complex128, fftPoints)
		for i := range signal {
			at := 2 * (s*fftPoints + i)
			signal[i] = complex(float64(in[at]), float64(in[at+1]))
		}
		for _, v := range transform(signal) {
			want = append(want, real(v), imag(v))
		}
	}
	return problem{args: []Arg{{In: floats(in...)}, {Out: 4 * values}}, verify: expect(want, 1e-3)}
}

// transform returns the discrete Fourier transform, by halves: another
// algorithm than the kernel's, so that both do not err alike.
func transform(x []complex128) []complex128 {
	n := len(x)
	if n == 1 {
		return x
	}
	even, odd := make([]complex128, n/2), make([]complex128, n/2)
	for i := range even {
		even[i], odd[i] = x[2*i], x[2*i+1]
	}
	even, odd = transform(even), transform(odd)
	out := make([]complex128, n)
	for k := range even {
		t := cmplx.Rect(1, -2*math.Pi*float64(k)/float64(n)) * odd[k]
		out[k], out[k+n/2] = even[k]+t, even[k]-t
	}
	return out
}
