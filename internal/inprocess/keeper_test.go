package inprocess_test

import (
	"sync/atomic"
	"testing"

	"github.com/kernstash/kernstash/internal/inprocess"
)

// What was counted before Poke is written, also where it comes while it is written.
func TestKeeper(t *testing.T) {
	t.Parallel()
	var counted, written atomic.Int64
	k := inprocess.NewKeeper(func() { written.Store(counted.Load()) })
	k.Wait()
	for range 100 {
		counted.Add(1)
		k.Poke()
	}
	k.Wait()
	if written.Load() != 100 {
		t.Errorf("%d of 100 written", written.Load())
	}
}
