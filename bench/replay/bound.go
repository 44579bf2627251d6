package main

import (
	"cmp"
	"math"
	"slices"
)

// bound returns what no policy can exceed under a limit, for a value of each
// request: 1 for hits, its bytes, its cost.
//
// To hit at request j, the artifact must be kept from its request i before, so
// it occupies its bytes for j-i requests. All hits together can occupy at most
// the limit at each of the requests. If only that sum is kept to, and not the
// limit at every moment, the best choice is by value for each byte and request,
// the last one in part: a knapsack that may be cut. Finding the true optimum
// for artifacts of different sizes takes too long.
func bound(trace []request, limit int64, value func(request) float64) float64 {
	type keep struct{ value, room float64 }
	var keeps []keep
	for i, j := range nextUses(trace) {
		if j != math.MaxInt && trace[i].bytes <= limit {
			keeps = append(keeps, keep{value(trace[j]), float64(trace[i].bytes) * float64(j-i)})
		}
	}
	slices.SortFunc(keeps, func(a, b keep) int { return cmp.Compare(b.value/b.room, a.value/a.room) })
	room := float64(limit) * float64(len(trace))
	sum := 0.0
	for _, k := range keeps {
		if k.room > room {
			return sum + k.value*room/k.room
		}
		sum += k.value
		room -= k.room
	}
	return sum
}
