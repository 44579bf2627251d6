//go:build linux || darwin

package tally

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/safefs"
)

// place returns where a tally can be, and the path of its file.
func place(t *testing.T) (Place, string) {
	t.Helper()
	path := t.TempDir()
	dir, _, err := safefs.OpenRoot(path, safefs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return Place{Dir: dir, Tmp: dir, Name: "tally"}, filepath.Join(path, "tally")
}

func open(t *testing.T, p Place, slots, counters int) *File {
	t.Helper()
	f := New(p, slots, counters)
	t.Cleanup(f.Close)
	return f
}

func add(t *testing.T, f *File, delta ...int64) {
	t.Helper()
	if err := f.Add(delta...); err != nil {
		t.Fatalf("add: %v", err)
	}
}

func wantTotals(t *testing.T, f *File, want ...int64) {
	t.Helper()
	got, err := f.Totals()
	if err != nil {
		t.Fatalf("totals: %v", err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("totals (-want +got):\n%s", d)
	}
}

// TestConcurrentAdditions: many files stand for many processes, since each has
// an open file description of its own.
func TestConcurrentAdditions(t *testing.T) {
	t.Parallel()
	p, _ := place(t)
	const files, goroutines, times = 6, 4, 50
	var wg sync.WaitGroup
	for range files {
		f := open(t, p, 8, 2)
		for range goroutines {
			wg.Go(func() {
				for range times {
					if err := f.Add(3, -1); err != nil {
						t.Errorf("add: %v", err)
					}
				}
			})
		}
	}
	wg.Wait()
	const n = files * goroutines * times
	wantTotals(t, open(t, p, 8, 2), 3*n, -n)
}

func TestDamagedFileIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"removed": os.Remove,
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"cut":     func(path string) error { return os.Truncate(path, 100) },
		"long":    func(path string) error { return os.Truncate(path, 1<<20) },
		"foreign": func(path string) error { return os.WriteFile(path, make([]byte, 64+4*2*8), 0o600) },
		"link":    func(path string) error { os.Remove(path); return os.Symlink("/dev/null", path) },
		"FIFO":    func(path string) error { os.Remove(path); return syscall.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, path := place(t)
			f := open(t, p, 4, 2)
			add(t, f, 1, 2)
			f.Close()
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			wantTotals(t, f, 0, 0)
			add(t, f, 5, 6)
			wantTotals(t, open(t, p, 4, 2), 5, 6)
		})
	}
}

// TestDirectoryInThePlace: it is left alone, with an error, until Renew, which
// moves away what is in it.
func TestDirectoryInThePlace(t *testing.T) {
	t.Parallel()
	for _, full := range []bool{false, true} {
		p, path := place(t)
		f := open(t, p, 4, 2)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if full {
			if err := os.WriteFile(filepath.Join(path, "x"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Add(1, 2); !errors.Is(err, syscall.EISDIR) {
			t.Errorf("add: %v", err)
		}
		if _, err := f.Totals(); !errors.Is(err, syscall.EISDIR) {
			t.Errorf("totals: %v", err)
		}
		if err := f.Renew(); err != nil {
			t.Fatal(err)
		}
		add(t, f, 1, 2)
		wantTotals(t, open(t, p, 4, 2), 1, 2)
		if kept, _ := filepath.Glob(path + ".*/x"); full != (len(kept) == 1) {
			t.Errorf("kept: %v", kept)
		}
	}
}

// TestTotalsMakeNothing: who only looks leaves no file.
func TestTotalsMakeNothing(t *testing.T) {
	t.Parallel()
	p, path := place(t)
	wantTotals(t, open(t, p, 4, 2), 0, 0)
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file: %v", err)
	}
}

// TestOneSlot: a reset gives all of its lock back.
func TestOneSlot(t *testing.T) {
	t.Parallel()
	p, _ := place(t)
	f, g := open(t, p, 1, 2), open(t, p, 1, 2)
	for _, f := range []*File{f, g, f} {
		if err := f.Reset(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRenew: a tally of another version can be given up.
func TestRenew(t *testing.T) {
	t.Parallel()
	p, path := place(t)
	f := open(t, p, 4, 1)
	if err := os.WriteFile(path, []byte("ksttally\x02\x00\x00\x00"+strings.Repeat("x", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Add(1); !errors.Is(err, ErrVersion) {
		t.Errorf("add: %v", err)
	}
	if err := f.Renew(); err != nil {
		t.Fatal(err)
	}
	add(t, f, 3)
	wantTotals(t, f, 3)
}

// TestRemovedWhileOpen: additions go where others see them.
func TestRemovedWhileOpen(t *testing.T) {
	t.Parallel()
	p, path := place(t)
	f := open(t, p, 4, 1)
	add(t, f, 1)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	add(t, f, 2)
	wantTotals(t, open(t, p, 4, 1), 2)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantTotals(t, f, 0)
}

// TestUpgrade: a file of fewer counters gets the new ones and keeps the rest,
// also under a process that still has the old one open.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	p, _ := place(t)
	older := open(t, p, 4, 2)
	add(t, older, 1, 2)
	newer := open(t, p, 8, 3)
	wantTotals(t, newer, 1, 2, 0)
	add(t, newer, 10, 20, 30)
	add(t, older, 100, 200)
	wantTotals(t, newer, 111, 222, 30)
	wantTotals(t, older, 111, 222)
}

// TestUnknownVersionIsLeftAlone: a newer kernstash owns it.
func TestUnknownVersionIsLeftAlone(t *testing.T) {
	t.Parallel()
	p, path := place(t)
	f := open(t, p, 4, 1)
	add(t, f, 7)
	f.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint32(b[8:], 2)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Add(1); !errors.Is(err, ErrVersion) {
		t.Errorf("add: %v, want ErrVersion", err)
	}
	if _, err := f.Totals(); !errors.Is(err, ErrVersion) {
		t.Errorf("totals: %v, want ErrVersion", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(b) {
		t.Errorf("the file was changed, %v", err)
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	p, _ := place(t)
	f := open(t, p, 4, 2)
	add(t, f, 1, 2)
	add(t, open(t, p, 4, 2), 3, 4)
	if err := f.Reset(); err != nil {
		t.Fatal(err)
	}
	wantTotals(t, f, 0, 0)
	add(t, f, 5, 6)
	wantTotals(t, open(t, p, 4, 2), 5, 6)
}

func BenchmarkAdd(b *testing.B) {
	dir, _, err := safefs.OpenRoot(b.TempDir(), safefs.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer dir.Close()
	f := New(Place{dir, dir, "tally"}, 64, 2)
	defer f.Close()
	for b.Loop() {
		if err := f.Add(1, 1); err != nil {
			b.Fatal(err)
		}
	}
}
