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

// The sizes of the problems.
const (
	warmN   = 64
	matmulN = 128

	reduceGroup  = 128
	reduceGroups = 4

	nbodyN         = 256
	nbodySoftening = 0.01
	nbodyStep      = 0.001

	fftPoints  = 1024
	fftGroup   = 64
	fftSignals = 4

	shaMessages = 512
	shaBytes    = 80
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
			{Scalar: bytesOf[uint32](n)},
			{Scalar: bytesOf[float32](alpha)},
			{Scalar: bytesOf[float32](beta)},
			{In: bytesOf(a...)},
			{In: bytesOf(b...)},
			{Out: 4 * n},
		},
		verify: expect(want, 1e-6),
	}
}

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
	return problem{args: []Arg{{In: bytesOf(a...)}, {In: bytesOf(b...)}, {Out: 4 * n * n}}, verify: expect(want, 1e-4)}
}

// warm writes ones.
func warm() problem {
	return problem{args: []Arg{{Out: 4 * warmN}}, verify: expect(slices.Repeat([]float64{1}, warmN), 1e-6)}
}

// reduce finds the sum, the sum of squares, and the extremes.
func reduce() problem {
	const n = 1<<15 + 5
	in := noise(5, n)
	return problem{
		args: []Arg{{Scalar: bytesOf[uint32](n)}, {In: bytesOf(in...)}, {Out: 16 * reduceGroups}},
		verify: func(out [][]byte) (float64, error) {
			got := []float64{0, 0, math.Inf(1), math.Inf(-1)}
			want := slices.Clone(got)
			join := func(to []float64, sum, squares, low, high float64) {
				to[0] += sum
				to[1] += squares
				to[2] = min(to[2], low)
				to[3] = max(to[3], high)
			}
			for _, v := range in {
				x := float64(v)
				join(want, x, x*x, x, x)
			}
			for part := range slices.Chunk(readFloats(out[0]), 4) {
				join(got, part[0], part[1], part[2], part[3])
			}
			if !slices.Equal(got[2:], want[2:]) {
				return 0, fmt.Errorf("extremes %g and %g, want %g and %g", got[2], got[3], want[2], want[3])
			}
			return worst(got[:2], want[:2], 5e-3)
		},
	}
}

// nbody moves bodies that pull on each other.
func nbody() problem {
	const size = 4 * nbodyN
	x, v := noise(7, size), noise(8, size)
	for i := range nbodyN {
		x[4*i+3] = (x[4*i+3] + 1) / nbodyN // the mass
	}
	wantX, wantV := step(x, v)
	return problem{
		args: []Arg{{In: bytesOf(x...)}, {In: bytesOf(v...)}, {Out: 4 * size}, {Out: 4 * size}},
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

// fft transforms some signals.
func fft() problem {
	const values = 2 * fftPoints * fftSignals
	in := noise(6, values)
	want := make([]float64, 0, values)
	for values := range slices.Chunk(in, 2*fftPoints) {
		var signal []complex128
		for v := range slices.Chunk(values, 2) {
			signal = append(signal, complex(float64(v[0]), float64(v[1])))
		}
		for _, v := range transform(signal) {
			want = append(want, real(v), imag(v))
		}
	}
	return problem{args: []Arg{{In: bytesOf(in...)}, {Out: 4 * values}}, verify: expect(want, 1e-3)}
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

// sha256d digests messages, and their digests.
func sha256d() problem {
	messages := bytesOf(noise(9, shaMessages*shaBytes/4)...) // as good as any bytes
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

// bigEndian turns the bytes of each word round: SHA-256 counts in big-endian words.
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

// bytesOf returns numbers as devices have them.
func bytesOf[N float32 | uint32](v ...N) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, v) // of numbers none fails
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

// worst returns the largest difference as a share of tolerance, NaN if there is one.
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
