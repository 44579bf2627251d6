package headers

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
)

// A header file that has become a FIFO when the files are checked makes nobody wait.
func TestCheckFilesOfAFIFO(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.h")
	if err := mkfifo(path); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("NOT RUN: this system makes no FIFOs:", err)
	} else if err != nil {
		t.Fatal(err)
	}
	img, err := key.NewImage(key.OpenCLC, []byte("#include <a.h>\n"))
	if err != nil {
		t.Fatal(err)
	}
	img, err = img.Tracked([]key.Unit{{Kind: key.OpenCLC, Code: img.Units()[0].Code, Includes: []key.Include{{Name: "<a.h>"}}, Files: []key.File{{Path: path}}}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		s := &Set{Image: img}
		done <- s.Check(func([][]byte) error { return nil }) == nil
	}()
	select {
	case fit := <-done:
		if fit {
			t.Error("a FIFO passes")
		}
	case <-time.After(time.Minute):
		if f, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
			f.Close()
		}
		t.Fatal("it waits for the FIFO")
	}
}
