package ctime

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const zfsMagic = 0x2fc12fc1 // not in unix

// kept are the file systems that set a change time themselves, always. What an overlay lies on is
// not to be seen in a container, nor to which overlay a file belongs.
var kept = []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, zfsMagic}

// loopMajor is the major number of block devices that are files.
const loopMajor = 7

// system asks the kernel.
func system(path string, device uint64) bool {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	var fs unix.Statfs_t
	if unix.Fstat(fd, &st) != nil || uint64(st.Dev) != device || unix.Fstatfs(fd, &fs) != nil { //nolint:unconvert // other systems have other types
		return false
	}
	return trusted(found{device, int64(fs.Type), int64(fs.Flags)}, func() string { //nolint:unconvert // likewise
		b, _ := os.ReadFile("/proc/self/mountinfo")
		return string(b)
	})
}

// found is what the kernel says of a file system.
type found struct {
	device      uint64
	magic, flag int64
}

// trusted reports whether a file system sets change times itself. Mountinfo, see proc(5), is read
// only for what is read-only here.
func trusted(f found, mountinfo func() string) bool {
	if unix.Major(f.device) == loopMajor || !slices.Contains(kept, f.magic) {
		return false // of a loop device: made elsewhere, whoever writes to it here
	}
	return f.flag&unix.ST_RDONLY == 0 || isWritten(f.device, mountinfo())
}

// isWritten reports whether a file system that is read-only at one place is written to at
// others, as where a container sees a directory of its host.
func isWritten(device uint64, mountinfo string) bool {
	name := fmt.Sprintf("%d:%d", unix.Major(device), unix.Minor(device))
	for line := range strings.Lines(mountinfo) {
		// 36 35 98:0 /root /at rw,noatime master:1 - ext3 /dev/root rw,errors=continue
		place, fs, _ := strings.Cut(line, " - ")
		at, of := strings.Fields(place), strings.Fields(fs)
		if len(at) > 2 && at[2] == name && len(of) > 2 {
			return slices.Contains(strings.Split(of[len(of)-1], ","), "rw") // of the file system, not of the place
		}
	}
	return false
}

// isLocal reports whether a path is on a file system whose changes get the time of this machine's
// clock. On an overlay a file that is changed is one of the file system above.
func isLocal(path string, _ uint64) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && slices.Contains(append([]int64{unix.OVERLAYFS_SUPER_MAGIC}, kept...), int64(fs.Type)) //nolint:unconvert // other systems have other types
}

// TrustedOnOverlay reports whether the change time of a file on an overlay, which a container sees, but not what it lies
// on, is likely to be trusted: what lies on an image (squashfs, erofs, iso9660) has a change time in
// whole seconds that is the time of modification; what was written to a file system has one of its own, with nanoseconds.
// It is for compilers and libraries.
func TrustedOnOverlay(path string, mtime, ctime int64) bool {
	var fs unix.Statfs_t
	return ctime != mtime && ctime%1e9 != 0 && unix.Statfs(path, &fs) == nil && fs.Type == unix.OVERLAYFS_SUPER_MAGIC
}
