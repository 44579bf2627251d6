package elfid

import (
	"io/fs"
	"syscall"
)

// stamp tells one state of one file from every other.
type stamp struct {
	path       string
	dev, inode uint64
	size       int64
	sec, nsec  int64 // change time, which nobody can set back
}

func stampOf(path string, st fs.FileInfo) stamp {
	s := stamp{path: path, size: st.Size()}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		s.dev, s.inode = uint64(sys.Dev), sys.Ino
		s.sec, s.nsec = int64(sys.Ctim.Sec), int64(sys.Ctim.Nsec)
	}
	return s
}
