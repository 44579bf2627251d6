package beneath_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/internal/beneath"
)

// TestAppend: what many append at once through descriptors of their own is whole, and
// behind what was there.
func TestAppend(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "f"), []byte("head\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _, err := beneath.OpenRoot(path, beneath.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	whether, _, err := d.OpenWrite("f")
	if err != nil {
		t.Fatal(err)
	}
	defer whether.Close()
	if err := whether.Append(nil); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("NOT RUN: this system cannot append in one piece (qemu's emulation knows no pwritev2): ", err)
	}
	const writers, times = 8, 50
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			f, _, err := d.OpenWrite("f")
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			for range times {
				if err := f.Append([]byte(strings.Repeat(string(rune('a'+i)), 75) + "\n")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b, err := os.ReadFile(filepath.Join(path, "f"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if lines[0] != "head" || len(lines) != 1+writers*times {
		t.Fatalf("%d lines, the first is %q", len(lines), lines[0])
	}
	for _, l := range lines[1:] {
		if l != strings.Repeat(l[:1], 75) {
			t.Errorf("a line is torn: %q", l)
		}
	}
}

// TestAppendFails: an error says so, and writes nothing.
func TestAppendFails(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := &beneath.Hook{Before: func(op beneath.Op, size int) (int, error) {
		if op == beneath.OpAppend {
			return 0, unix.ENOSPC
		}
		return size, nil
	}}
	d, _, err := beneath.OpenRoot(path, beneath.Options{Hook: h})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f, _, err := d.OpenWrite("f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Append([]byte("x")); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("append: %v, want ENOSPC", err)
	}
}
