package disk

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestOpen hands the file of an entry on, by its descriptor, to a reader who checks it.
func TestOpen(t *testing.T) {
	t.Parallel()
	d := New(Options{Dir: filepath.Join(t.TempDir(), "root")})
	defer d.Close()
	e, another := storetest.New(t, "open", 5000), storetest.New(t, "another", 5000)
	if _, _, err := d.Open(t.Context(), e.Key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("before it is stored: %v", err)
	}
	_, err := d.Put(t.Context(), e)
	must(t, err)
	f, size, err := d.Open(t.Context(), e.Key)
	must(t, err)
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size != size {
		t.Errorf("%d bytes, %+v, %v", size, info, err)
	}
	if _, err := unix.Write(f.FD(), []byte("x")); !errors.Is(err, unix.EBADF) {
		t.Errorf("it can be written: %v", err)
	}
	received := func() safefs.File {
		fd, err := unix.FcntlInt(uintptr(f.FD()), unix.F_DUPFD_CLOEXEC, 0)
		must(t, err)
		return safefs.Received(fd)
	}
	must(t, d.Delete(t.Context(), e.Key)) // under the reader
	mine := received()
	defer mine.Close()
	got, err := ReadEntry(mine, e.Key)
	must(t, err)
	if !bytes.Equal(got.Artifact.Binaries[0].Data, e.Artifact.Binaries[0].Data) || got.Key != e.Key {
		t.Error("another artifact")
	}
	if _, err := ReadEntry(mine, another.Key); whyMissed(err) != reason.MissCollision {
		t.Errorf("by another key: %v", err)
	}
}

func whyMissed(err error) reason.Reason {
	miss, _ := errors.AsType[*store.MissError](err)
	if miss == nil {
		return 0
	}
	return miss.Reason
}

// TestReadEntryOfAnything reads what somebody may hand over instead of an entry.
func TestReadEntryOfAnything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "text"), bytes.Repeat([]byte("text"), 1000), 0o600))
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	hole, err := os.Create(filepath.Join(dir, "hole"))
	must(t, err)
	must(t, hole.Truncate(1<<40))
	hole.Close()
	for name, want := range map[string]reason.Reason{
		"empty": reason.MissTruncated, "text": reason.MissForeign, "fifo": reason.MissIrregular, ".": reason.MissIrregular, "hole": reason.MissUnreadable,
	} {
		fd, err := unix.Open(filepath.Join(dir, name), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		must(t, err)
		f := safefs.Received(fd)
		if _, err := ReadEntry(f, storetest.New(t, "any", 1).Key); whyMissed(err) != want {
			t.Errorf("%s: %v", name, err)
		}
		f.Close()
	}
}
