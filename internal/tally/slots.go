package tally

import (
	"errors"

	"github.com/kernstash/kernstash/internal/lock"
)

// patience is how often a slot that somebody holds is asked for: a quarter of a
// second in all, where a slot is held for microseconds.
const patience = 64

// Slots returns the counters of every slot, one slot behind the other, and says
// whether there are any: a file that is missing, damaged or of another shape
// has counted nothing. It makes nothing. Changes that happen meanwhile may be
// in or not, but those of one slot are in together.
func (t *File) Slots() (counters []int64, any bool, err error) {
	counters = make([]int64, t.slots*t.counters)
	_, err = t.look(func() (uint64, error) {
		any = false
		b, h, err := t.read()
		if err != nil || !t.fits(h) {
			return 0, err
		}
		any = true
		for s := range h.slots {
			decode(counters[s*t.counters:(s+1)*t.counters], b[h.offset(s):])
		}
		return h.flags, nil
	})
	return counters, any, err
}

// Change lets f change the counters of a slot, which nobody else does
// meanwhile. ErrBusy: somebody else did for a quarter of a second.
func (t *File) Change(slot int, f func(c []int64)) error {
	wait := func() (int, error) {
		for i := range patience {
			err := lock.Try(t.f, t.h.offset(slot), 1)
			if err == nil || errors.Is(err, lock.ErrUnsupported) {
				return slot, nil
			}
			pause(i)
		}
		return 0, ErrBusy
	}
	return t.change(wait, func(_ int, c []int64) { f(c) })
}

// ChangeAll lets f change the counters of each slot.
func (t *File) ChangeAll(f func(slot int, c []int64)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.need(); err != nil {
		return err
	}
	if err := t.lockAll(); err != nil {
		return err
	}
	defer t.unlock(headerBytes, t.h.size()-headerBytes)
	return t.rewrite(0, t.h.slots, f)
}
