package pages

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

var pageSize = uintptr(os.Getpagesize())

// touch has the kernel make all pages that lie within b. Before Linux 5.14 it does not, and
// they come one by one.
func touch(b []byte) {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	first := (from + pageSize - 1) &^ (pageSize - 1)
	last := (from + uintptr(len(b))) &^ (pageSize - 1)
	if last > first {
		_ = unix.Madvise(b[first-from:last-from], unix.MADV_POPULATE_WRITE)
	}
}
