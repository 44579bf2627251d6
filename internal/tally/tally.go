// Package tally keeps totals in a file that many processes add to at once, without one lock
// for all: the file holds many slots, each a full set of counters, an addition goes to any
// slot that is free, and a total is the sum over the slots, read with one call. What a
// process that is killed had not added is lost, and nothing else.
//
// The file is a header and the slots; docs/FORMAT.md has the table.
package tally

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/internal/lock"
	"github.com/kernstash/kernstash/internal/safefs"
)

// Errors of a tally file.
var (
	ErrVersion = errors.New("tally of another format version")
	ErrBusy    = errors.New("every slot of the tally is locked")
	ErrTorn    = errors.New("written in part") // perhaps: to change the counters again might count twice
)

// Place is where a tally file lives.
type Place struct {
	Dir  safefs.Dir // of the file
	Tmp  safefs.Dir // for files that do not yet have a name
	Name string
}

// File is a tally file. It is opened by the first call that needs it, and made
// where it is missing or damaged by the first one that writes. A file that
// cannot be opened for another reason is left alone: descriptors that ran out
// must not cost what was counted. It is safe for concurrent use.
type File struct {
	place    Place
	slots    int
	counters int
	fixed    bool // each slot has a meaning, so there must be as many

	mu   sync.Mutex // excludes the goroutines of this process
	f    safefs.File
	h    header
	slot int     // where the last addition went
	buf  []byte  // of look
	row  []int64 // of Each
}

// New returns the tally file at a place, for counters counters. Slots is how
// many a file that must be made gets.
func New(p Place, slots, counters int) *File {
	return &File{place: p, slots: slots, counters: counters, slot: rand.N(slots)}
}

// NewFixed returns the tally file at a place whose slots have a meaning each:
// additions say which one they are for, and a file of another shape counts for
// nothing and is replaced by an empty one.
func NewFixed(p Place, slots, counters int) *File {
	t := New(p, slots, counters)
	t.fixed = true
	return t
}

// fits reports whether the open file can hold what is counted.
func (t *File) fits(h header) bool {
	return h.counters >= t.counters && (!t.fixed || h.slots == t.slots)
}

// Close ends the descriptor. A later call opens it again.
func (t *File) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop()
}

func (t *File) drop() {
	if t.f.IsOpen() {
		t.f.Close()
		t.f = safefs.File{}
	}
}

// How long slots that others hold are asked for. One is held for microseconds, unless its
// holder was stopped in between; all of them seldom are free while many add.
const (
	waitOne   = 250 * time.Millisecond
	waitAny   = 50 * time.Millisecond
	waitAll   = 25 * time.Millisecond
	waitReset = 5 * time.Second
)

// Add adds delta, as many numbers as there are counters, to the totals.
func (t *File) Add(delta ...int64) error {
	return t.change(anySlot, 1, waitAny, func(_ int, c []int64) {
		for i, d := range delta {
			c[i] += d
		}
	})
}

// Change lets f change the counters of a slot, which nobody else does
// meanwhile. ErrBusy: somebody else did for a quarter of a second.
func (t *File) Change(slot int, f func(c []int64)) error {
	return t.change(slot, 1, waitOne, func(_ int, c []int64) { f(c) })
}

// ChangeAll lets f change the counters of each slot of a NewFixed file, at the price of one. It is
// soon busy where many change slots at the same time.
func (t *File) ChangeAll(f func(slot int, c []int64)) error { return t.change(0, t.slots, waitAll, f) }

const anySlot = -1

// change locks n slots from first on, and lets f change their counters.
func (t *File) change(first, n int, wait time.Duration, f func(slot int, c []int64)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range 4 {
		if err := t.need(); err != nil {
			return err
		}
		slot, choices := first, 1
		if first == anySlot {
			slot, choices = t.slot, t.h.slots
		}
		slot, err := t.lock(slot, n, choices, wait)
		if err != nil {
			return err
		}
		t.slot = slot
		// A file that was removed or replaced meanwhile counts for nobody.
		if info, err := t.f.Stat(); err != nil || info.Links == 0 {
			t.drop()
			continue
		}
		err = t.rewrite(slot, n, f)
		t.unlock(slot, n)
		if err == nil {
			return nil
		}
		t.drop()
		if errors.Is(err, ErrTorn) {
			return err // again, it might count twice
		}
	}
	return fmt.Errorf("change %s: it is replaced again and again", t.place.Name)
}

// rewrite lets f change the counters of n slots, of which it gets those that
// this version knows. The caller holds their locks.
func (t *File) rewrite(slot, n int, f func(slot int, c []int64)) error {
	at := t.h.offset(slot)
	b := make([]byte, t.h.offset(slot+n)-at)
	if _, err := t.f.ReadAt(b, at); err != nil {
		return err
	}
	c := make([]int64, t.counters)
	for i := range n {
		from := b[t.h.offset(i)-headerBytes:]
		decode(c, from)
		f(slot+i, c)
		for j, v := range c {
			binary.LittleEndian.PutUint64(from[8*j:], uint64(v))
		}
	}
	if err := t.f.WriteAt(b, at); err != nil {
		return fmt.Errorf("%w: %w", ErrTorn, err)
	}
	return nil
}

// Totals returns the sums over all slots, as many as there are counters.
// Additions that happen meanwhile may be in or not. It makes nothing: a file that
// is missing or damaged has counted nothing.
func (t *File) Totals() ([]int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, h, err := t.look()
	return h.sum(b, t.counters), err
}

// Each calls f with the counters of every slot, which are f's until it returns, but not where
// nothing was counted, as in a file that is missing, damaged or of another shape. It makes
// nothing. Changes that happen meanwhile may be in or not, but those of one slot are in together.
func (t *File) Each(f func(slot int, c []int64)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, h, err := t.look()
	if err != nil || !t.fits(h) {
		return err
	}
	t.row = slices.Grow(t.row[:0], t.counters)[:t.counters]
	for slot := range h.slots {
		decode(t.row, b[h.offset(slot):])
		f(slot, t.row)
	}
	return nil
}

// look returns the file as it is now, until the next call: without slots where there is none,
// or none that could be read, which is no error. The caller holds mu.
func (t *File) look() (b []byte, h header, err error) {
	if t.f.IsOpen() {
		if info, err := t.f.Stat(); err != nil || info.Links == 0 {
			t.drop()
		}
	}
	for range 2 { // the second time, what replaced the first
		err = nil
		keep := true
		if !t.f.IsOpen() {
			err = t.open(t.place.Dir.OpenWrite)
			if keep = !errors.Is(err, syscall.EROFS); !keep {
				err = t.open(t.place.Dir.Open) // for this time: nobody can add with it
			}
		}
		if err == nil {
			b, h, err = t.read()
		}
		if err != nil || !keep {
			t.drop()
		}
		if err == nil {
			return b, h, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) || replaceable(err) {
		err = nil
	}
	return nil, header{}, err
}

// replaceable reports whether what is in the place of a tally, as err tells, holds
// nothing that could be lost.
func replaceable(err error) bool {
	return errors.Is(err, errDamaged) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) // a link, a socket
}

// read returns the whole file, until the next read.
func (t *File) read() ([]byte, header, error) {
	t.buf = slices.Grow(t.buf[:0], int(t.h.size()))[:t.h.size()]
	b := t.buf
	if _, err := t.f.ReadAt(b, 0); err != nil {
		return nil, header{}, fmt.Errorf("read %s: %w", t.place.Name, err)
	}
	h, err := parseHeader(b, int64(len(b)))
	return b, h, err
}

// Reset sets all counters to zero.
func (t *File) Reset() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.need(); err != nil {
		return err
	}
	if _, err := t.lock(0, t.h.slots, 1, waitReset); err != nil {
		return err
	}
	defer t.unlock(0, t.h.slots)
	return t.f.WriteAt(make([]byte, t.h.size()-headerBytes), headerBytes)
}

// Renew puts an empty file in the place of whatever is there: a directory, a
// tally of another version.
func (t *File) Renew() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop()
	err := t.place.Dir.Rmdir(t.place.Name)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist) {
		// Whoever filled it finds it there.
		err = t.place.Dir.Rename(t.place.Name, t.place.Tmp, fmt.Sprintf("%s.%016x", t.place.Name, rand.Uint64()))
	}
	if err != nil && !errors.Is(err, syscall.ENOTDIR) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return t.publish(true, nil)
}

// need opens the file, and makes it where it is missing, damaged or too small.
// The caller holds mu.
func (t *File) need() error {
	if t.f.IsOpen() && t.fits(t.h) {
		return nil
	}
	t.drop()
	for range 4 {
		err := t.open(t.place.Dir.OpenWrite)
		switch {
		case err == nil && t.fits(t.h):
			return nil
		case err == nil && !t.fixed:
			err = t.grow()
		case err == nil, replaceable(err):
			err = t.publish(true, nil)
		case errors.Is(err, fs.ErrNotExist):
			err = t.publish(false, nil)
		}
		t.drop()
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return fmt.Errorf("open %s: it is replaced again and again", t.place.Name)
}

func (t *File) open(at func(name string) (safefs.File, safefs.Info, error)) error {
	f, info, err := at(t.place.Name)
	if err != nil {
		return err
	}
	var b [headerBytes]byte
	if info.Kind != safefs.Regular {
		err = fmt.Errorf("open %s: not a regular file: %w", t.place.Name, errDamaged)
	} else if _, err = f.ReadAt(b[:], 0); err != nil {
		err = fmt.Errorf("read %s: %w", t.place.Name, err)
	} else {
		t.h, err = parseHeader(b[:], info.Size)
	}
	if err != nil {
		f.Close()
		return err
	}
	t.f = f
	return nil
}

// grow replaces the open file, which an older version made, by one that has all counters.
func (t *File) grow() error {
	if _, err := t.lock(0, t.h.slots, 1, waitReset); err != nil {
		return err
	}
	defer t.unlock(0, t.h.slots)
	if info, err := t.f.Stat(); err != nil || info.Links == 0 {
		return err // somebody else did
	}
	b, h, err := t.read()
	if err != nil {
		return err
	}
	return t.publish(true, h.sum(b, t.counters))
}

// publish makes a file whose first slot holds sums.
func (t *File) publish(replace bool, sums []int64) error {
	h := header{t.slots, t.counters}
	b := make([]byte, h.size())
	h.put(b)
	for i, n := range sums {
		binary.LittleEndian.PutUint64(b[headerBytes+8*i:], uint64(n))
	}
	return t.place.Dir.Publish(t.place.Tmp, t.place.Name, replace, time.Now().UnixNano(), b)
}

// lock locks n slots, from first on or from one of as many others as there are choices,
// and returns where they begin. Where locks do not work it goes without: a lost addition
// is mended by the next count.
func (t *File) lock(first, n, choices int, wait time.Duration) (slot int, err error) {
	pause, end := 50*time.Microsecond, time.Now().Add(wait)
	for i := 0; ; i++ {
		if i > 0 && i%choices == 0 {
			if time.Now().After(end) {
				return 0, ErrBusy
			}
			time.Sleep(rand.N(pause)) // at random, so that a crowd does not come back all at once
			pause = min(pause+pause/4, time.Millisecond)
		}
		slot = (first + i%choices) % t.h.slots
		err := lock.Try(t.f, t.h.offset(slot), t.span(n))
		if err == nil || errors.Is(err, lock.ErrUnsupported) {
			return slot, nil
		}
	}
}

// span is how many bytes are locked for n slots: of one, its first.
func (t *File) span(n int) int64 {
	if n == 1 {
		return 1
	}
	return t.h.offset(n) - headerBytes
}

// unlock gives slots back, if need be with the file: one that stayed locked
// would keep every other process from it.
func (t *File) unlock(slot, n int) {
	if lock.Release(t.f, t.h.offset(slot), t.span(n)) != nil {
		t.drop()
	}
}
