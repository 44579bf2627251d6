package frameworks

import (
	"io/fs"
	"syscall"
	"time"
)

// accessed returns when a file was read last, as far as its file system notes that.
func accessed(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Atim.Unix())
	}
	return info.ModTime()
}
