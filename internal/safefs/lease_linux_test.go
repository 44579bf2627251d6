package safefs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLeaseIsAnError: a file that somebody has a lease on is not waited for.
func TestLeaseIsAnError(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d, _, err := OpenRoot(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	holder, err := os.Create(filepath.Join(path, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if _, err := unix.FcntlInt(holder.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skip("NOT RUN: no leases here:", err)
	}
	// One that waits succeeds when the lease is broken by force, after 45 s.
	if _, _, err := d.Open("f"); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("open: %v, want EAGAIN", err)
	}
}
