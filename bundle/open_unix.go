//go:build unix

package bundle

import (
	"io/fs"
	"syscall"
)

// nonblocking has a file opened that is a pipe, without waiting for who writes it.
const nonblocking = syscall.O_NONBLOCK

// owner returns the user whom a file belongs to, where that is known.
func owner(info fs.FileInfo) (uid int, known bool) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), true
	}
	return 0, false
}
