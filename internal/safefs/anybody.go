package safefs

import (
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// IsAnybody reports whether an owner of this id may be anybody: in a user
// namespace all users that it does not map are shown as one, and a process
// whose own user is not mapped would take everybody's files for its own.
func IsAnybody(uid uint32) bool {
	unknown, partial := overflow()
	return partial && uid == unknown
}

// overflow returns the id that stands for users without a mapping, and whether
// there can be such users here.
var overflow = sync.OnceValues(func() (uid uint32, partial bool) {
	if runtime.GOOS != "linux" {
		return 0, false
	}
	users, err := ReadSystem("/proc/self/uid_map")
	if err != nil || mapsAll(string(users)) {
		return 0, false // also without /proc, or user namespaces
	}
	uid = 65534
	if text, err := ReadSystem("/proc/sys/kernel/overflowuid"); err == nil {
		if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32); err == nil {
			uid = uint32(n)
		}
	}
	return uid, true
})

// mapsAll reports whether a uid_map maps every user to itself, as that of the
// first namespace does.
func mapsAll(users string) bool {
	return strings.Join(strings.Fields(users), " ") == "0 0 4294967295"
}
