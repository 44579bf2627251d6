package tally

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kernstash/kernstash/internal/lock"
)

// patience is how long a slot that somebody holds is asked for. It is held for
// microseconds, unless its holder was stopped in between.
const patience = 250 * time.Millisecond

// Raw lets f read the counters of every slot: counter i of slot s is the little-endian
// number at b[s*stride+8*i]. b is nil where nothing was counted, as in a file that is
// missing, damaged or of another shape, and f's only until it returns. It makes nothing.
// Changes that happen meanwhile may be in or not, but those of one slot are in together.
func (t *File) Raw(f func(b []byte, stride int)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var raw []byte
	err := t.look(func() error {
		raw = nil
		b, h, err := t.read()
		if err == nil && t.fits(h) {
			raw = b[headerBytes:]
		}
		return err
	})
	if err == nil {
		f(raw, int(t.h.offset(1)-headerBytes))
	}
	return err
}

// Change lets f change the counters of a slot, which nobody else does
// meanwhile. ErrBusy: somebody else did for a quarter of a second.
func (t *File) Change(slot int, f func(c []int64)) error {
	wait := func() (int, error) {
		most, end := 50*time.Microsecond, time.Now().Add(patience)
		for {
			err := lock.Try(t.f, t.h.offset(slot), 1)
			switch {
			case err == nil || errors.Is(err, lock.ErrUnsupported):
				return slot, nil
			case time.Now().After(end):
				return 0, ErrBusy
			}
			time.Sleep(rand.N(most)) // at random, so that a crowd does not come back all at once
			most = min(most+most/4, time.Millisecond)
		}
	}
	return t.change(wait, func(_ int, c []int64) { f(c) })
}

// ChangeAll lets f change the counters of each slot, at the price of one. It is
// soon busy where many change slots at the same time.
func (t *File) ChangeAll(f func(slot int, c []int64)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range 4 {
		if err := t.need(); err != nil {
			return err
		}
		if err := t.lockAll(16); err != nil {
			return err
		}
		info, err := t.f.Stat()
		if err == nil && info.Links > 0 {
			err = t.rewrite(0, t.h.slots, f)
			t.unlock(headerBytes, t.h.size()-headerBytes)
			return err
		}
		t.drop()
	}
	return fmt.Errorf("change %s: it is replaced again and again", t.place.Name)
}
