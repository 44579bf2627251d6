package inprocess

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// leastAddresses is how much address space must be left of RLIMIT_AS: Go ends
// the process where it cannot reserve what it needs.
const leastAddresses = 1 << 30

// enoughAddresses reports whether Go can go on in this process. What it reserves to
// begin with it has by now: the shim looks at the limit before it opens us.
func enoughAddresses() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil || limit.Cur == unix.RLIM_INFINITY {
		return nil
	}
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return nil
	}
	var pages uint64
	if _, err := fmt.Sscan(string(b), &pages); err != nil {
		return nil
	}
	if used := pages * uint64(os.Getpagesize()); limit.Cur < used+leastAddresses {
		left := limit.Cur - min(used, limit.Cur)
		return fmt.Errorf("the limit of its address space leaves too little: %d bytes of %d", left, limit.Cur)
	}
	return nil
}
