//go:build linux

package disk

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/kernstash/kernstash/store"
)

// TestPassOver: what a directory that cannot be opened means for a walk.
func TestPassOver(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]struct{ full, told, partial, fails bool }{
		syscall.ENOENT:  {},
		syscall.ESTALE:  {},
		syscall.ENOTDIR: {full: true, told: true},
		syscall.ELOOP:   {full: true, told: true},
		syscall.EACCES:  {full: true, told: true},
		syscall.EIO:     {full: true, told: true, partial: true},
		syscall.EMFILE:  {full: true, fails: true},
		syscall.ENOMEM:  {full: true, fails: true},
	} {
		told := false
		w := walker{passed: func(string, error) { told = true }}
		full, got := w.passOver(leafNames{"a"}, 1, err)
		if full != want.full || told != want.told || w.partial != want.partial || errors.Is(got, err) != want.fails {
			t.Errorf("%v: full %v, told %v, partial %v, %v; want %+v", err, full, told, w.partial, got, want)
		}
	}
}

// TestCountsSeeDifferentParts: those that are cut short.
func TestCountsSeeDifferentParts(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i := range 40 {
		put(t, s, sized(t, s, fmt.Sprint(i), 1000), store.Stored)
	}
	r, err := s.acquire(false)
	must(t, err)
	defer r.release()
	m, err := r.meta(false)
	must(t, err)
	seen := make(map[leafNames]bool)
	for range 20 {
		ctx, cancel := context.WithCancel(bg)
		leaves := 0
		s.o.hooks.counted = func(*Store) {
			if leaves++; leaves == 4 {
				cancel()
			}
		}
		c, err := s.census(ctx, r, m, LRU)
		cancel()
		if err != nil || !c.partial || len(c.victims) != 4 {
			t.Fatalf("%d seen, partial %v, %v", len(c.victims), c.partial, err)
		}
		for _, v := range c.victims {
			seen[v.leaf()] = true
		}
	}
	if len(seen) < 12 {
		t.Errorf("20 counts of 4 saw %d of 40", len(seen))
	}
}
