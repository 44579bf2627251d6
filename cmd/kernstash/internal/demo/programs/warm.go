package programs

import (
	"slices"

	"github.com/kernstash/kernstash/gpu/tool"
)

func warm() Program {
	const n = 64
	return Program{
		Code: tool.Code{Name: "warm"}, Title: "start of the compiler", Global: []int{n}, Local: []int{n},
		problem: func() problem {
			return problem{
				args: []Arg{{Out: 4 * n}},
				verify: func(out [][]byte) (float64, error) {
					return worst(readFloats(out[0]), slices.Repeat([]float64{1}, n), 1e-6)
				},
			}
		},
	}
}
