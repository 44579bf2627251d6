package programs

import "slices"

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
