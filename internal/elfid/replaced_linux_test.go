//go:build linux && !nogpu

package elfid_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/elfid"
)

// emptyLibrary links a shared library that has nothing in it.
func emptyLibrary(t *testing.T, path string, args ...string) {
	t.Helper()
	args = append([]string{"-shared", "-o", path, "-x", "c", "/dev/null"}, args...)
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestClosureFollowsOnlyWhatIsAsked(t *testing.T) {
	t.Parallel()
	m := elfid.Loaded()
	found := m.Named(func(base string) bool { return base == "libc.so.6" })
	if len(found) != 1 {
		t.Fatalf("loaded: %q", found)
	}
	l, err := elfid.Inspect(found[0])
	if err != nil {
		t.Fatal(err)
	}
	none, err := m.Closure([]string{found[0], found[0]}, func(string) bool { return false })
	if err != nil || len(none) != 1 {
		t.Errorf("following nothing: %d libraries, %v", len(none), err)
	}
	all, err := m.Closure(found, func(string) bool { return true })
	if err != nil || len(all) != 1+len(l.Needed) {
		t.Errorf("following everything: %d libraries, %v, libc needs %q", len(all), err, l.Needed)
	}
}

// What a package manager puts in the place of a library that runs is not that library.
func TestClosureOfAReplacedFile(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(path string) error{
		"renamed over": func(path string) error { return os.Rename(path+".new", path) },
		"renamed over, and loaded, too": func(path string) error {
			if err := os.Rename(path+".new", path); err != nil {
				return err
			}
			_, err := dl.Open(path)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "libks-replaced.so")
			emptyLibrary(t, path)
			emptyLibrary(t, path+".new", "-DNEW", "-g")
			if _, err := dl.Open(path); err != nil {
				t.Fatal(err)
			}
			m, none := elfid.Loaded(), func(string) bool { return false }
			if _, err := m.Closure([]string{path}, none); err != nil {
				t.Errorf("before: %v", err)
			}
			if err := replace(path); err != nil {
				t.Fatal(err)
			}
			if all, err := m.Closure([]string{path}, none); err == nil {
				t.Errorf("what lies there now is what runs: %+v", all[0])
			}
		})
	}
}

// Looking for a library by its soname reads no file whole: a process may have gigabytes loaded.
func TestClosureReadsOnlyWhatIsInIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	vast, inner, link, outer := filepath.Join(dir, "libks-vast.so"), filepath.Join(dir, "libks-within.so.1"), filepath.Join(dir, "libks-linked.so.1"), filepath.Join(dir, "libks-outside.so.1")
	emptyLibrary(t, inner, "-Wl,-soname,"+filepath.Base(link))
	if err := os.Symlink(filepath.Base(inner), link); err != nil {
		t.Fatal(err)
	}
	emptyLibrary(t, outer, "-Wl,-rpath,"+dir, "-Wl,--no-as-needed", "-x", "none", link)
	if _, err := dl.Open(outer); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(vast)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 40); err != nil { // takes no room, and many minutes to read
		t.Fatal(err)
	}
	at, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(at)

	found := make(chan int, 1)
	go func() {
		all, err := elfid.Loaded().Closure([]string{outer}, func(soname string) bool { return strings.HasPrefix(soname, "libks-") })
		if err != nil {
			t.Error(err)
		}
		found <- len(all)
	}()
	select {
	case n := <-found:
		if n != 2 {
			t.Errorf("%d libraries", n)
		}
	case <-time.After(time.Minute):
		t.Error("a file of 1 TiB is read")
		_ = f.Truncate(0) // which ends that
		<-found
	}
}
