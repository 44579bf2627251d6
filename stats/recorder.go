// Package stats counts what a cache does: for each tier hits, misses with
// their reasons, waits, builds, failures, evictions, bytes and time.
package stats

import "sync/atomic"

// Recorder takes counts. Implementations are safe for concurrent use and do
// not block: they are called between a request and its answer.
type Recorder interface {
	// Add adds n to counter c.
	Add(c Counter, n int64)
}

// Noop is a Recorder that forgets.
type Noop struct{}

// Add does nothing.
func (Noop) Add(Counter, int64) {}

// Counters is a Recorder that keeps totals in memory. The zero value is ready.
type Counters struct {
	n [NumCounters]atomic.Int64
}

// Add adds n to counter c; a counter that does not exist is ignored.
func (k *Counters) Add(c Counter, n int64) {
	if c >= 0 && int(c) < NumCounters {
		k.n[c].Add(n)
	}
}

// Snapshot returns the totals so far. Counters that change meanwhile may be of
// slightly different moments.
func (k *Counters) Snapshot() Snapshot {
	var s Snapshot
	for i := range k.n {
		s[i] = k.n[i].Load()
	}
	return s
}

// Tee returns a Recorder that passes every count to all of to.
func Tee(to ...Recorder) Recorder { return tee(to) }

type tee []Recorder

func (t tee) Add(c Counter, n int64) {
	for _, r := range t {
		r.Add(c, n)
	}
}
