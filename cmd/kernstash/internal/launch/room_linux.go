package launch

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// leastRoom is less than an entry of some size needs.
const leastRoom = 256 << 10

// full says whether the file system of a directory, or of where it would be made, has no
// room for an entry.
func full(dir string) bool {
	var st unix.Statfs_t
	for unix.Statfs(dir, &st) != nil {
		if dir == filepath.Dir(dir) {
			return false
		}
		dir = filepath.Dir(dir)
	}
	return int64(st.Bavail)*st.Bsize < leastRoom
}
