//go:build linux

package contents

import (
	"io/fs"
	"syscall"
)

func stampOf(st fs.FileInfo) Stamp {
	s := Stamp{Size: st.Size(), Mtime: st.ModTime().UnixNano()}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		s.Device, s.Inode = uint64(sys.Dev), sys.Ino
		s.Ctime = int64(sys.Ctim.Sec)*1e9 + int64(sys.Ctim.Nsec)
	}
	return s
}
