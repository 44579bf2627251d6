package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"time"
)

// sample is the size and cost of one real artifact.
type sample struct {
	bytes int64
	cost  time.Duration
}

// samples are those of the artifacts in a recorded trace.
func samples(trace []request) (all []sample) {
	seen := make(map[string]bool)
	for _, q := range trace {
		if !seen[q.key] {
			seen[q.key] = true
			all = append(all, sample{q.bytes, q.cost})
		}
	}
	return all
}

// generator makes synthetic traces. The artifacts are like the real ones: each
// is one of them, its size and its cost both changed at random by up to a factor
// of two.
type generator struct {
	r     *rand.Rand
	real  []sample
	made  map[string]sample
	trace []request
}

func newGenerator(seed uint64, real []sample) *generator {
	return &generator{r: rand.New(rand.NewPCG(seed, 0)), real: real, made: make(map[string]sample)}
}

func (g *generator) jitter() float64 { return math.Exp2(2*g.r.Float64() - 1) }

// ask adds a request for a key; of picks the artifact for a new key.
func (g *generator) ask(at time.Duration, key string, of func() sample) {
	s, ok := g.made[key]
	if !ok {
		s = of()
		s.bytes = int64(float64(s.bytes) * g.jitter())
		s.cost = time.Duration(float64(s.cost) * g.jitter())
		g.made[key] = s
	}
	g.trace = append(g.trace, request{at: at, key: key, bytes: s.bytes, cost: s.cost})
}

// any is any of the real artifacts.
func (g *generator) any() sample { return g.real[g.r.IntN(len(g.real))] }

// dear is one of the quarter of them that take longest for their bytes, cheap
// of the quarter that take least.
func (g *generator) dear() sample { return g.quarter(3) }

func (g *generator) cheap() sample { return g.quarter(0) }

func (g *generator) quarter(i int) sample {
	by := slices.Clone(g.real)
	sort.Slice(by, func(i, j int) bool {
		return float64(by[i].cost)/float64(by[i].bytes) < float64(by[j].cost)/float64(by[j].bytes)
	})
	n := max(len(by)/4, 1)
	return by[i*len(by)/4+g.r.IntN(n)]
}

// end returns the trace in order, with a process for every ten requests.
func (g *generator) end() []request {
	slices.SortStableFunc(g.trace, func(a, b request) int { return int(a.at - b.at) })
	for i := range g.trace {
		g.trace[i].process = fmt.Sprint(i / 10)
	}
	return g.trace
}

// zipf draws numbers below n, the k-th with a weight of 1/(k+1)^s. The numbers
// are mixed up, so that popularity says nothing about the artifact.
func (g *generator) zipf(n int, s float64) func() int {
	sums := make([]float64, n)
	sum := 0.0
	for k := range sums {
		sum += math.Pow(float64(k+1), -s)
		sums[k] = sum
	}
	return func() int { return sort.SearchFloat64s(sums, g.r.Float64()*sum) }
}

const day = 24 * time.Hour

// scenario is a synthetic trace with its reason.
type scenario struct {
	name, title string
	make        func(g *generator)
}

var scenarios = []scenario{
	{"zipf", "Many programs, some popular (Zipf 0.9)", func(g *generator) {
		draw := g.zipf(1500, 0.9)
		for range 20_000 {
			g.ask(time.Duration(g.r.Float64()*float64(30*day)), fmt.Sprint("z", draw()), g.any)
		}
	}},
	{"scan", "Half of all requests are one-off builds", func(g *generator) {
		draw := g.zipf(500, 0.9)
		for i := range 16_000 {
			at := time.Duration(g.r.Float64() * float64(30*day))
			if i%2 == 0 {
				g.ask(at, fmt.Sprint("once", i), g.any)
			} else {
				g.ask(at, fmt.Sprint("z", draw()), g.any)
			}
		}
	}},
	{"ci", "Developers by day, all of the tests every night", func(g *generator) {
		draw := g.zipf(600, 0.9)
		for d := range 20 {
			start := time.Duration(d) * day
			for range 600 {
				// The programs of interest move on, five a day.
				at := start + 9*time.Hour + time.Duration(g.r.Float64()*float64(9*time.Hour))
				g.ask(at, fmt.Sprint("t", (draw()+5*d)%600), g.any)
			}
			for i := range 600 {
				g.ask(start+22*time.Hour+time.Duration(i)*10*time.Second, fmt.Sprint("t", i), g.any)
			}
		}
	}},
	{"update", "A driver update every ten days changes all keys", func(g *generator) {
		draw := g.zipf(400, 0.9)
		for range 16_000 {
			at := time.Duration(g.r.Float64() * float64(40*day))
			g.ask(at, fmt.Sprint("v", at/(10*day), " ", draw()), g.any)
		}
	}},
	{"dominant", "80 % of requests from one application, cheap ones", func(g *generator) {
		own, others := g.zipf(200, 0.6), g.zipf(800, 0.8)
		for range 16_000 {
			at := time.Duration(g.r.Float64() * float64(30*day))
			if g.r.Float64() < 0.8 {
				g.ask(at, fmt.Sprint("own", own()), g.cheap)
			} else {
				g.ask(at, fmt.Sprint("other", others()), g.any)
			}
		}
	}},
	{"tuner", "A tuner builds 300 dear variants and uses one", func(g *generator) {
		draw := g.zipf(400, 0.9)
		for range 12_000 {
			g.ask(time.Duration(g.r.Float64()*float64(28*day)), fmt.Sprint("z", draw()), g.any)
		}
		for run := range 8 {
			start := time.Duration(run)*84*time.Hour + 12*time.Hour
			for v := range 300 {
				g.ask(start+time.Duration(v)*20*time.Second, fmt.Sprint("tune", run, " ", v), g.dear)
			}
			for u := range 60 {
				g.ask(start+2*time.Hour+time.Duration(u)*time.Hour, fmt.Sprint("tune", run, " ", 17), g.dear)
			}
		}
	}},
	{"drift", "The programs in use change wholly every three days", func(g *generator) {
		draw := g.zipf(250, 0.7)
		for range 16_000 {
			at := time.Duration(g.r.Float64() * float64(30*day))
			g.ask(at, fmt.Sprint("p", int(at/(3*day)), " ", draw()), g.any)
		}
	}},
	{"variants", "Half are one-off builds, half variants of one program", func(g *generator) {
		draw := g.zipf(1500, 0.5)
		for i := range 12_000 {
			at := time.Duration(g.r.Float64() * float64(30*day))
			if i%2 == 0 {
				g.ask(at, fmt.Sprint("once", i), g.any)
			} else {
				g.ask(at, fmt.Sprint("program/", draw()), g.any)
			}
		}
	}},
}
