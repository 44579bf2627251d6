package programs

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
)

// vadd adds two vectors.
func vadd() problem {
	const n = 1<<15 + 37 // with a tail for each of the kernel's three loops
	const alpha, beta = 0.75, -1.5
	a, b := noise(1, n), noise(2, n)
	want := make([]float64, n)
	for i := range want {
		want[i] = alpha*float64(a[i]) + beta*float64(b[i])
	}
	return problem{
		args: []Arg{
			{Scalar: words(n)},
			{Scalar: floats(alpha)},
			{Scalar: floats(beta)},
			{In: floats(a...)},
			{In: floats(b...)},
			{Out: 4 * n},
		},
		verify: expect(want, 1e-6),
	}
}

const matmulN = 128

// matmul multiplies two square matrices.
func matmul() problem {
	const n = matmulN
	a, b := noise(3, n*n), noise(4, n*n)
	want := make([]float64, n*n)
	for row := range n {
		for k := range n {
			for col := range n {
				want[row*n+col] += float64(a[row*n+k]) * float64(b[k*n+col])
			}
		}
	}
	return problem{args: []Arg{{In: floats(a...)}, {In: floats(b...)}, {Out: 4 * n * n}}, verify: expect(want, 1e-4)}
}

const warmN = 64

// warm writes ones.
func warm() problem {
	return problem{args: []Arg{{Out: 4 * warmN}}, verify: expect(slices.Repeat([]float64{1}, warmN), 1e-6)}
}

const (
	reduceGroup  = 128
	reduceGroups = 4
)

// reduce finds the sum, the sum of squares, and the extremes.
func reduce() problem {
	const n = 1<<15 + 5
	in := noise(5, n)
	return problem{
		args: []Arg{{Scalar: words(n)}, {In: floats(in...)}, {Out: 16 * reduceGroups}},
		verify: func(out [][]byte) (float64, error) {
			want := fold(in)
			partials := readFloats(out[0])
			got := partial{low: math.Inf(1), high: math.Inf(-1)}
			for i := 0; i < len(partials); i += 4 {
				got.join(partial{partials[i], partials[i+1], partials[i+2], partials[i+3]})
			}
			if got.low != want.low || got.high != want.high {
				return 0, fmt.Errorf("extremes %g and %g, want %g and %g", got.low, got.high, want.low, want.high)
			}
			return worst([]float64{got.sum, got.squares}, []float64{want.sum, want.squares}, 5e-3)
		},
	}
}

type partial struct{ sum, squares, low, high float64 }

func (p *partial) join(q partial) {
	p.sum += q.sum
	p.squares += q.squares
	p.low = min(p.low, q.low)
	p.high = max(p.high, q.high)
}

func fold(in []float32) partial {
	p := partial{low: math.Inf(1), high: math.Inf(-1)}
	for _, v := range in {
		x := float64(v)
		p.join(partial{x, x * x, x, x})
	}
	return p
}

const (
	nbodyN         = 256
	nbodySoftening = 0.01
	nbodyStep      = 0.001
)

var nbodyOptions = fmt.Sprintf("-DN=%d -DSOFTENING=%gf -DSTEP=%gf", nbodyN, nbodySoftening, nbodyStep)

// nbody moves bodies that pull on each other.
func nbody() problem {
	const size = 4 * nbodyN
	x, v := noise(7, size), noise(8, size)
	for i := range nbodyN {
		x[4*i+3] = (x[4*i+3] + 1) / nbodyN // the mass
	}
	wantX, wantV := step(x, v)
	return problem{
		args: []Arg{{In: floats(x...)}, {In: floats(v...)}, {Out: 4 * size}, {Out: 4 * size}},
		verify: func(out [][]byte) (float64, error) {
			errX, failedX := worst(readFloats(out[0]), wantX, 1e-6)
			errV, failedV := worst(readFloats(out[1]), wantV, 1e-4)
			return max(errX, errV), cmp.Or(failedX, failedV)
		},
	}
}

// step moves all bodies by one step.
func step(x, v []float32) (newX, newV []float64) {
	for i := range nbodyN {
		var acc, jerk [3]float64
		for o := range nbodyN {
			var dx, dv [3]float64
			r2, along := float64(nbodySoftening), 0.0
			for c := range 3 {
				dx[c] = float64(x[4*o+c]) - float64(x[4*i+c])
				dv[c] = float64(v[4*o+c]) - float64(v[4*i+c])
				r2 += dx[c] * dx[c]
				along += dx[c] * dv[c]
			}
			strength := float64(x[4*o+3]) / (r2 * math.Sqrt(r2))
			for c := range 3 {
				acc[c] += strength * dx[c]
				jerk[c] += strength * (dv[c] - 3*along/r2*dx[c])
			}
		}
		const h = nbodyStep
		for c := range 3 {
			x0, v0 := float64(x[4*i+c]), float64(v[4*i+c])
			newX = append(newX, x0+h*v0+h*h/2*acc[c]+h*h*h/6*jerk[c])
			newV = append(newV, v0+h*acc[c]+h*h/2*jerk[c])
		}
		newX, newV = append(newX, float64(x[4*i+3])), append(newV, 0)
	}
	return newX, newV
}

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

const (
	shaMessages = 512
	shaBytes    = 80
)

// sha256d digests messages, and their digests.
func sha256d() problem {
	messages := floats(noise(9, shaMessages*shaBytes/4)...) // as good as any bytes
	return problem{
		args: []Arg{{In: bigEndian(messages)}, {Out: shaMessages * sha256.Size}},
		verify: func(out [][]byte) (float64, error) {
			got := bigEndian(out[0])
			for i := range shaMessages {
				once := sha256.Sum256(messages[i*shaBytes : (i+1)*shaBytes])
				want := sha256.Sum256(once[:])
				if !bytes.HasPrefix(got[min(i*sha256.Size, len(got)):], want[:]) {
					return 0, fmt.Errorf("digest of message %d", i)
				}
			}
			return 0, nil
		},
	}
}

// bigEndian turns the bytes of each word round: SHA-256 counts in big-endian
// words, the device in its own.
func bigEndian(b []byte) []byte {
	out := bytes.Clone(b)
	for word := range slices.Chunk(out, 4) {
		slices.Reverse(word)
	}
	return out
}

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
	b, _ := binary.Append(nil, binary.LittleEndian, v) // of numbers none fails
	return b
}

func words(v ...uint32) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, v)
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
