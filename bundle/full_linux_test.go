package bundle_test

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/kernstash/kernstash/bundle"
	"github.com/kernstash/kernstash/internal/ownmounts"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/storetest"
	"golang.org/x/sys/unix"
)

// TestFullDisk: where there is no room a bundle is not made of what there was room for, and nothing is left.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if !ownmounts.Here(t) {
		return
	}
	d := filled(t, storetest.New(t, "one", 1000), storetest.New(t, "two", 200_000))
	b, _ := create(t, bundle.Options{}, d)
	full := t.TempDir()
	if err := unix.Mount("tmpfs", full, "tmpfs", 0, "size=100k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(full, unix.MNT_DETACH) })
	if err := os.Setenv("TMPDIR", full); err != nil { // of the process, which is the test's own
		t.Fatal(err)
	}
	_, skipped, err := bundle.Create(t.Context(), []*disk.Store{d}, bundle.Options{}, io.Discard)
	if !errors.Is(err, syscall.ENOSPC) || len(skipped) > 0 {
		t.Errorf("create: %v, skipped %v", err, skipped)
	}
	if err := read(t, b).Extract(t.Context(), full+"/layer"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("extract: %v", err)
	}
	if _, err := read(t, b).Import(t.Context(), d, nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("import: %v", err)
	}
	if left, _ := os.ReadDir(full); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
