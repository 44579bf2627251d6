package rootdir

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// isAnybody says whether an owner of this id may be anybody: in a user
// namespace all users that it does not map are shown as one, and a process
// whose own user is not mapped would take everybody's files for its own.
func isAnybody(uid uint32) bool {
	unknown, partial := overflow()
	return partial && uid == unknown
}

// overflow returns the id that stands for users without a mapping, and whether
// there can be such users here.
var overflow = sync.OnceValues(func() (uid uint32, partial bool) {
	users, err := readProc("/proc/self/uid_map")
	if err != nil || mapsAll(users) {
		return 0, false // also without /proc, or user namespaces
	}
	uid = 65534
	if text, err := readProc("/proc/sys/kernel/overflowuid"); err == nil {
		if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32); err == nil {
			uid = uint32(n)
		}
	}
	return uid, true
})

// readProc returns the beginning of a small file of the kernel's. It is read at a process's
// first hit, for which os.ReadFile would have the runtime's poller made.
func readProc(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(fd) }()
	b := make([]byte, 4<<10) // the kernel gives a page at once
	for {
		n, err := unix.Read(fd, b)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return "", err
		}
		return string(b[:n]), nil
	}
}

// mapsAll says whether a uid_map maps every user to itself, as that of the
// first namespace does.
func mapsAll(users string) bool {
	return strings.Join(strings.Fields(users), " ") == "0 0 4294967295"
}
