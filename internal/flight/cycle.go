package flight

import (
	"context"
	"errors"
	"sync"
)

// ErrCycle says that a build asked for a result that waits for that build.
var ErrCycle = errors.New("build waits for itself")

// callKey is the context key under which a build finds its own call.
type callKey struct{}

// edge says that a call's build waits for another call.
type edge struct{ from, to *call }

// waits counts the waits under way of builds that started builds of their own. Only
// nested requests take this lock.
var waits = struct {
	sync.Mutex
	edges map[edge]int
}{edges: make(map[edge]int)}

// enterGraph notes that the build that ctx belongs to, if any, waits for c.
func enterGraph(ctx context.Context, c *call) (leave func(), err error) {
	from, _ := ctx.Value(callKey{}).(*call)
	if from == nil {
		return func() {}, nil
	}
	waits.Lock()
	defer waits.Unlock()
	if reaches(c, from, make(map[*call]bool)) {
		return nil, ErrCycle
	}
	own := edge{from, c}
	waits.edges[own]++
	return func() {
		waits.Lock()
		defer waits.Unlock()
		if waits.edges[own]--; waits.edges[own] == 0 {
			delete(waits.edges, own)
		}
	}, nil
}

// reaches reports whether a waits for b, itself included.
func reaches(a, b *call, seen map[*call]bool) bool {
	seen[a] = true
	for w := range waits.edges {
		if w.from == a && !seen[w.to] && reaches(w.to, b, seen) {
			return true
		}
	}
	return a == b
}
