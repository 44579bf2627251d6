//go:build linux || darwin

package tally

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func openFixed(t *testing.T, p Place, slots, counters int) *File {
	t.Helper()
	f := NewFixed(p, slots, counters)
	t.Cleanup(f.Close)
	return f
}

func change(t *testing.T, f *File, slot int, g func(c []int64)) {
	t.Helper()
	if err := f.Change(slot, g); err != nil {
		t.Fatalf("change: %v", err)
	}
}

func wantSlots(t *testing.T, f *File, there bool, want ...int64) {
	t.Helper()
	var got []int64
	err := f.Each(func(_ int, c []int64) { got = append(got, c...) })
	if !there {
		want = nil
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("slots, %v (-want +got):\n%s", err, d)
	}
}

// TestSlots: each slot keeps what is its own, whoever changes the others.
func TestSlots(t *testing.T) {
	t.Parallel()
	p, _ := place(t)
	wantSlots(t, openFixed(t, p, 3, 2), false, 0, 0, 0, 0, 0, 0)
	const files, times = 8, 50
	var wg sync.WaitGroup
	for range files {
		f := openFixed(t, p, 3, 2)
		wg.Go(func() {
			for i := range times {
				if err := f.Change(i%2+1, func(c []int64) { c[0]++; c[1] -= 2 }); err != nil {
					t.Errorf("change: %v", err)
				}
			}
		})
	}
	wg.Wait()
	const n = files * times / 2
	f := openFixed(t, p, 3, 2)
	wantSlots(t, f, true, 0, 0, n, -2*n, n, -2*n)
	if err := f.ChangeAll(func(slot int, c []int64) { c[0] += int64(slot) }); err != nil {
		t.Fatal(err)
	}
	wantSlots(t, f, true, 0, 0, n+1, -2*n, n+2, -2*n)
}

// TestSlotsOfAnotherShape: a file with other slots, or too few counters, counts
// for nothing; one with more counters keeps them.
func TestSlotsOfAnotherShape(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		slots, counters int
		fits            bool
	}{
		"more slots": {4, 2, false}, "fewer slots": {2, 2, false}, "fewer counters": {3, 1, false},
		"more counters": {3, 4, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := place(t)
			older := openFixed(t, p, c.slots, c.counters)
			change(t, older, 1, func(c []int64) { c[len(c)-1] = 7 })
			f := openFixed(t, p, 3, 2)
			wantSlots(t, f, c.fits, 0, 0, 0, 0, 0, 0)
			change(t, f, 1, func(c []int64) { c[0] = 5 })
			wantSlots(t, f, true, 0, 0, 5, 0, 0, 0)
			if c.fits {
				wantSlots(t, older, true, slices.Concat(make([]int64, 4), []int64{5, 0, 0, 7}, make([]int64, 4))...)
			}
		})
	}
}

// TestHeldSlot: who waits for a slot that somebody keeps gives up, and the others
// are free.
func TestHeldSlot(t *testing.T) {
	t.Parallel()
	p, _ := place(t)
	holder, f := openFixed(t, p, 3, 1), openFixed(t, p, 3, 1)
	change(t, holder, 1, func([]int64) {
		if err := f.Change(1, func(c []int64) { c[0]++ }); !errors.Is(err, ErrBusy) {
			t.Errorf("change of a held slot: %v, want ErrBusy", err)
		}
		change(t, f, 2, func(c []int64) { c[0]++ })
	})
	wantSlots(t, f, true, 0, 0, 1)
}
