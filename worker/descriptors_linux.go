package worker

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// CloseInherited closes the descriptors from first on that this process has from
// whoever started it: somebody may wait for the other end of a pipe to close. It is to
// be called before anything is opened. What Go's runtime has opened by then stays.
func CloseInherited(first int) {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return
	}
	names, _ := dir.Readdirnames(-1)
	dir.Close()
	for _, n := range names {
		fd, err := strconv.Atoi(n)
		if err != nil || fd < first {
			continue
		}
		to, err := os.Readlink("/proc/self/fd/" + n)
		if err != nil || strings.HasPrefix(to, "anon_inode:") || strings.HasPrefix(to, "/sys/fs/cgroup/") || strings.HasPrefix(to, "/proc/") {
			continue
		}
		_ = unix.Close(fd)
	}
}
