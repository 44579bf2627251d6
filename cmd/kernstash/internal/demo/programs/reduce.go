package programs

import (
	"fmt"
	"math"
)

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
