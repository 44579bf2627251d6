package inprocess_test

import (
	"sync/atomic"
	"testing"

	"github.com/kernstash/kernstash/internal/inprocess"
)

// What was counted before Poke is written, which the host can see, also where it comes while it is written.
func TestKeeper(t *testing.T) {
	t.Parallel()
	var counted, written atomic.Int64
	var unwritten atomic.Int32
	k := inprocess.NewKeeper(func() { written.Store(counted.Load()) }, &unwritten)
	k.Wait()
	for range 100 {
		counted.Add(1)
		k.Poke()
	}
	k.Wait()
	if written.Load() != 100 || unwritten.Load() != 0 {
		t.Errorf("%d of 100 written, %d are not", written.Load(), unwritten.Load())
	}
}

// While it is written, or not yet, the host sees so.
func TestUnwritten(t *testing.T) {
	t.Parallel()
	var unwritten atomic.Int32
	entered, leave := make(chan struct{}, 100), make(chan struct{})
	k := inprocess.NewKeeper(func() { entered <- struct{}{}; <-leave }, &unwritten)
	k.Poke()
	<-entered
	k.Poke()
	if n := unwritten.Load(); n != 2 {
		t.Errorf("%d are not written, want both", n)
	}
	leave <- struct{}{}
	<-entered // again: the second may have come too late for the first time
	if n := unwritten.Load(); n != 1 {
		t.Errorf("%d are not written, want the second", n)
	}
	close(leave)
	k.Wait()
	if n := unwritten.Load(); n != 0 {
		t.Errorf("%d are not written in the end", n)
	}
}
