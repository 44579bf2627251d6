//go:build linux

package tally

import (
	"errors"
	"syscall"
	"testing"

	"github.com/kernstash/kernstash/internal/faultfs"
	"github.com/kernstash/kernstash/internal/safefs"
)

// faultyPlace is a place whose calls fail as a plan says, and the same without.
func faultyPlace(t *testing.T, rules ...faultfs.Rule) (faulty, clean Place) {
	t.Helper()
	path := t.TempDir()
	at := func(o safefs.Options) Place {
		dir, _, err := safefs.OpenRoot(path, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { dir.Close() })
		return Place{Dir: dir, Tmp: dir, Name: "tally"}
	}
	return at(safefs.Options{Hook: faultfs.New(rules...).Hook()}), at(safefs.Options{})
}

// TestTornAdditionCountsOnce: one that ends in the middle of its write is not
// made again over what it has written.
func TestTornAdditionCountsOnce(t *testing.T) {
	t.Parallel()
	write := []safefs.Op{safefs.OpPwrite} // the first one makes the file
	faulty, clean := faultyPlace(
		t,
		faultfs.Rule{Ops: write, Nth: 2, Fault: faultfs.Half},
		faultfs.Rule{Ops: write, Nth: 3, Fault: faultfs.Fault{Err: syscall.ENOSPC}},
	)
	if err := open(t, faulty, 1, 2).Add(5, 7); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("add: %v, want ENOSPC", err)
	}
	wantTotals(t, open(t, clean, 1, 2), 5, 0)
}

// TestUnlockThatFails keeps nobody out: the file is closed instead.
func TestUnlockThatFails(t *testing.T) {
	t.Parallel()
	faulty, clean := faultyPlace(
		t,
		faultfs.Rule{Ops: []safefs.Op{safefs.OpLockFreed}, Nth: 1, Fault: faultfs.Fault{Err: syscall.EIO}},
	)
	add(t, open(t, faulty, 1, 1), 1)
	add(t, open(t, clean, 1, 1), 1) // there is one slot
	wantTotals(t, open(t, clean, 1, 1), 2)
}
