package deps

import "golang.org/x/sys/unix"

// populate has all pages of b come at once; systems that cannot do that have them come as
// they are touched.
func populate(b []byte) { _ = unix.Madvise(b, unix.MADV_POPULATE_WRITE) }
