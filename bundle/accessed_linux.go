package bundle

import (
	"io/fs"
	"syscall"
	"time"
)

// accessed returns when a file was read last, where that is known.
func accessed(info fs.FileInfo) (at time.Time, known bool) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Atim.Unix()), true
	}
	return time.Time{}, false
}
