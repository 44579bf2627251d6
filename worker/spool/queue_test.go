//go:build linux

package spool_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/worker/spool"
)

func TestQueue(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	var added atomic.Int64
	rec := new(stats.Counters)
	q := spool.NewQueue(s, rec, nil, func() { added.Add(1) })
	for i := range 6 {
		q.Add(job(t, fmt.Sprintf("kernel void k%d() {}", i%3), "k/1-1-1"))
	}
	q.Add(spool.Job{}) // refused, and nobody is harmed
	if !q.Flush(time.Now().Add(time.Minute)) {
		t.Fatal("not written in a minute")
	}
	if n := len(list(t, s)); n != 3 || added.Load() != 3 {
		t.Errorf("%d jobs, added was called %d times", n, added.Load())
	}
	got := rec.Snapshot()
	for c, want := range map[stats.Counter]int64{stats.JobsAdded: 3, stats.JobsMerged: 3, stats.JobsDropped: 1} {
		if got[c] != want {
			t.Errorf("%v: %d, want %d", c, got[c], want)
		}
	}
}
