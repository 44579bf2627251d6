//go:build unix

package kernstash_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
)

// A header file that is, or becomes, a FIFO makes nobody wait.
func TestFIFOAmongHeaderFiles(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before bool // it is a file first, and the program is there
	}{
		"always":   {},
		"replaced": {before: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			header, root := filepath.Join(dir, "a.h"), filepath.Join(dir, "root")
			request := func() (kernstash.Origin, error) {
				a := ask{device: key.Device{API: "own"}, request: kernstash.Request{CompileOptions: "-I" + dir}}
				cache, x := a.open(t, root, nil)
				defer cache.Close()
				image, err := kernstash.NewImage(key.OpenCLC, []byte("#include <a.h>\n"))
				if err != nil {
					return 0, err
				}
				a.request.Image = image
				p, err := x.Program(t.Context(), a.request)
				if err != nil {
					return 0, err
				}
				defer p.Release()
				return p.Origin(), nil
			}
			if test.before {
				putInTree(t, dir, "a.h", "int a;\n")
				if _, err := request(); err != nil {
					t.Fatal(err)
				}
				if o, err := request(); err != nil || o != kernstash.Disk {
					t.Fatalf("from %v, %v", o, err)
				}
				if err := os.Remove(header); err != nil {
					t.Fatal(err)
				}
			}
			if err := unix.Mkfifo(header, 0o600); err != nil {
				t.Fatal(err)
			}
			done := make(chan kernstash.Origin)
			go func() {
				o, err := request()
				if err != nil {
					t.Error(err)
				}
				done <- o
			}()
			select {
			case o := <-done:
				if o != kernstash.Compiled {
					t.Errorf("from %v", o)
				}
			case <-time.After(time.Minute):
				if f, err := os.OpenFile(header, os.O_RDWR, 0); err == nil {
					f.Close()
				}
				t.Fatal("it waits for the FIFO")
			}
		})
	}
}
