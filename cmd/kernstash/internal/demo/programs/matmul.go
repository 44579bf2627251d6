package programs

import (
	"fmt"

	"github.com/kernstash/kernstash/gpu/tool"
)

const matmulN = 128

func matmul() Program {
	return Program{
		Code: tool.Code{Name: "matmul", Options: fmt.Sprintf("-DN=%d", matmulN)}, Title: "tiled matrix product",
		Global: []int{matmulN / 4, matmulN / 4}, Local: []int{8, 8}, problem: matmulProblem,
	}
}

func matmulProblem() problem {
	const n = matmulN
	a, b := noise(3, n*n), noise(4, n*n)
	return problem{
		args: []Arg{{In: floats(a...)}, {In: floats(b...)}, {Out: 4 * n * n}},
		verify: func(out [][]byte) (float64, error) {
			want := make([]float64, n*n)
			for row := range n {
				for k := range n {
					for col := range n {
						want[row*n+col] += float64(a[row*n+k]) * float64(b[k*n+col])
					}
				}
			}
			return worst(readFloats(out[0]), want, 1e-4)
		},
	}
}
