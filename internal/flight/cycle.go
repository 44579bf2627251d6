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

// waits holds who waits for whom among the calls whose builds started builds
// of their own. Only nested requests take this lock.
var waits = struct {
	sync.Mutex
	edges map[*call]map[*call]int
}{edges: make(map[*call]map[*call]int)}

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
	if waits.edges[from] == nil {
		waits.edges[from] = make(map[*call]int)
	}
	waits.edges[from][c]++
	return func() {
		waits.Lock()
		defer waits.Unlock()
		if waits.edges[from][c]--; waits.edges[from][c] == 0 {
			delete(waits.edges[from], c)
		}
		if len(waits.edges[from]) == 0 {
			delete(waits.edges, from)
		}
	}, nil
}

// reaches reports whether a waits for b, itself included.
func reaches(a, b *call, seen map[*call]bool) bool {
	if a == b {
		return true
	}
	if seen[a] {
		return false
	}
	seen[a] = true
	for next := range waits.edges[a] {
		if reaches(next, b, seen) {
			return true
		}
	}
	return false
}
