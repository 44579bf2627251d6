package bundle_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/bundle"
)

// TestUsed: of a restored cache it is told how many files were read, written anew and added since, from each Watch on anew.
func TestUsed(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	if shm, err := os.MkdirTemp("/dev/shm", "kernstash-used-"); err == nil { // tmpfs notes when a file is read
		t.Cleanup(func() { os.RemoveAll(shm) })
		parent = shm
	}
	ours, private := keys(t)
	h := []bundle.Harvest{
		{Name: "a", From: foreign(t, map[string]string{"one": "1", "d/two": "22", "three": "3"})},
		{Name: "b", From: foreign(t, map[string]string{"one": "1"})},
	}
	file, _ := create(t, bundle.Options{Sign: private, Harvest: h})
	r, dir := read(t, file, ours), filepath.Join(parent, "restored")
	if _, err := r.Restore(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, "harvest", "a", name) }
	look := func(name string) {
		if _, err := os.ReadFile(at(name)); err != nil {
			t.Error(err)
		}
	}
	write := func(name string) {
		if err := os.WriteFile(at(name), []byte("new"), 0o600); err != nil {
			t.Error(err)
		}
	}
	n := func(n int) *int { return &n }
	for _, step := range []struct {
		what               string
		do                 func()
		read, written, new int // of a
	}{
		{"nothing", func() {}, 0, 0, 0},
		{"one is read, and one added", func() { look("d/two"); write("d/more") }, 1, 0, 1},
		{"it is read again, and another written", func() { look("d/two"); write("three") }, 1, 1, 1},
		{"what was added is read", func() { look("d/more") }, 0, 0, 1},
		{"one is replaced", func() { os.Remove(at("one")); write("one") }, 0, 1, 1},
		{"one is written and read", func() { write("one"); time.Sleep(20 * time.Millisecond); look("one") }, 1, 0, 1},
		{"one is gone", func() { os.Remove(at("one")); look("three") }, 1, 0, 1},
	} {
		if err := r.Watch(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // file systems know times to a tick, of 10 ms at most
		step.do()
		for range 2 { // asking changes nothing
			got, err := r.Used(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			want := []bundle.Usage{{Name: "a", Files: 3, Read: n(step.read), Written: step.written, New: step.new}, {Name: "b", Files: 1, Read: n(0)}}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", step.what, d)
			}
		}
	}
	if _, err := r.Used(t.Context(), filepath.Join(dir, "none")); err == nil {
		t.Error("of no directory")
	}
}
