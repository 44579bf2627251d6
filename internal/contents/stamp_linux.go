package contents

import (
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/internal/ctime"
)

// isBelieved reports whether a file's stamp changes whenever the file does. To read all compilers in
// each process in a container takes longer than most of them compile.
func isBelieved(path string, s Stamp) bool {
	return ctime.Trusted(path, s.Device) || ctime.TrustedOnOverlay(path, s.Mtime, s.Ctime)
}

// imageOf returns the name of the mount that an open file lies on, see mountOf, if that is an
// image: a file system that nobody writes to, so that its files stay as they are until it is
// unmounted, whatever their stamps are. Otherwise, and on kernels without unique mount ids
// (before Linux 6.8), it is "": the plain ids are given to later mounts again.
func imageOf(f *os.File) string {
	var fs unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &fs) != nil {
		return ""
	}
	switch uint32(fs.Type) { // a signed number on some systems
	case unix.SQUASHFS_MAGIC, unix.EROFS_SUPER_MAGIC_V1, unix.ISOFS_SUPER_MAGIC:
	default:
		return ""
	}
	var st unix.Statx_t
	if unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID_UNIQUE, &st) != nil || st.Mask&unix.STATX_MNT_ID_UNIQUE == 0 {
		return ""
	}
	return mountOf(bootID(), st.Mnt_id)
}

// bootID returns the id of this boot of the machine; "" if it is not known.
var bootID = sync.OnceValue(func() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
})

func stampOf(st fs.FileInfo) Stamp {
	s := Stamp{Size: st.Size(), Mtime: st.ModTime().UnixNano()}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		s.Device, s.Inode = uint64(sys.Dev), sys.Ino
		s.Ctime = int64(sys.Ctim.Sec)*1e9 + int64(sys.Ctim.Nsec)
	}
	return s
}
