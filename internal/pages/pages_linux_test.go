package pages_test

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/internal/pages"
)

// The memory that Make returns is there before anybody touches it.
func TestMakeHasPages(t *testing.T) {
	t.Parallel()
	if err := unix.Madvise(make([]byte, 1<<20), unix.MADV_POPULATE_WRITE); errors.Is(err, unix.EINVAL) {
		t.Skip("this kernel is older than Linux 5.14, and makes no pages beforehand")
	}
	const size = 64 << 20 // more than the runtime has had before
	b := pages.Make(size)
	there := make([]byte, size/os.Getpagesize())
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), size, uintptr(unsafe.Pointer(&there[0])))
	if errno != 0 {
		t.Fatal(errno)
	}
	if n := bytes.Count(there, []byte{0}); n > len(there)/100 {
		t.Errorf("%d of %d pages are not there", n, len(there))
	}
}

func TestClone(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 4095, 4096, 64 << 10, 64<<10 + 1, 1 << 20} {
		b := bytes.Repeat([]byte("kernel "), n/7+1)[:n]
		own := pages.Clone(b)
		if !bytes.Equal(own, b) {
			t.Fatalf("%d bytes: they differ", n)
		}
		if n > 0 {
			own[n-1]++
			if bytes.Equal(own, b) {
				t.Errorf("%d bytes: they are the same memory", n)
			}
		}
	}
	if pages.Clone(nil) != nil {
		t.Error("a copy of nothing")
	}
}
