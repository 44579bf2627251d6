package runlog

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMemoryOfARun: an event goes into the memory of a run, by the name that it has in
// /proc, and into nothing else that such a name leads to: it may be another process's by now.
func TestMemoryOfARun(t *testing.T) {
	t.Parallel()
	memory := func(name string) *os.File {
		fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), name)
		t.Cleanup(func() { f.Close() })
		return f
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "kernstash-report"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, tt := range []struct {
		name string
		f    *os.File
		want bool
	}{
		{"a run's", memory(MemoryName), true},
		{"another's", memory("other"), false},
		{"a file", file, false},
	} {
		err := At(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), tt.f.Fd())).Write(Event{Kind: Job, Key: "k"})
		info, statErr := tt.f.Stat()
		if statErr != nil {
			t.Fatal(statErr)
		}
		if wrote := info.Size() > 0; (err == nil) != tt.want || wrote != tt.want {
			t.Errorf("%s: %v, %d bytes", tt.name, err, info.Size())
		}
	}
}
