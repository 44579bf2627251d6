package tally

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPassingTroubleLosesNothing: a file that cannot be opened just now, here
// since somebody has a lease on it, is not replaced by an empty one.
func TestPassingTroubleLosesNothing(t *testing.T) {
	t.Parallel()
	p, path := place(t)
	f := open(t, p, 4, 1)
	add(t, f, 7)
	f.Close()
	holder, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if _, err := unix.FcntlInt(holder.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skip("NOT RUN: no leases here:", err)
	}
	if err := f.Add(1); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("add: %v, want EAGAIN", err)
	}
	if _, err := f.Totals(); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("totals: %v, want EAGAIN", err)
	}
	holder.Close()
	add(t, f, 1)
	wantTotals(t, open(t, p, 4, 1), 8)
}
