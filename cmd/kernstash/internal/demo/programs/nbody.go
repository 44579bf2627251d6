package programs

import (
	"fmt"
	"math"
)

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
			errX, err := worst(readFloats(out[0]), wantX, 1e-6)
			if err != nil {
				return 0, err
			}
			errV, err := worst(readFloats(out[1]), wantV, 1e-4)
			return math.Max(errX, errV), err
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
