package programs

import "github.com/kernstash/kernstash/gpu/tool"

func vadd() Program {
	return Program{
		Code: tool.Code{Name: "vadd"}, Title: "vector add",
		Global: []int{256}, Local: []int{64}, problem: vaddProblem,
	}
}

func vaddProblem() problem {
	const n = 1<<15 + 37 // with a tail for each of the kernel's three loops
	const alpha, beta = 0.75, -1.5
	a, b := noise(1, n), noise(2, n)
	return problem{
		args: []Arg{
			{Scalar: words(n)},
			{Scalar: floats(alpha)},
			{Scalar: floats(beta)},
			{In: floats(a...)},
			{In: floats(b...)},
			{Out: 4 * n},
		},
		verify: func(out [][]byte) (float64, error) {
			want := make([]float64, n)
			for i := range want {
				want[i] = alpha*float64(a[i]) + beta*float64(b[i])
			}
			return worst(readFloats(out[0]), want, 1e-6)
		},
	}
}
