package ctime

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const zfsMagic = 0x2fc12fc1 // not in unix

// kept are the file systems that set a change time themselves, always.
var kept = []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, zfsMagic}

// loopMajor is the major number of block devices that are files.
const loopMajor = 7

// system asks the kernel.
func system(path string, device uint64) bool {
	fd := -1
	err := retry(func() (err error) {
		fd, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	var fs unix.Statfs_t
	if retry(func() error { return unix.Fstat(fd, &st) }) != nil || uint64(st.Dev) != device { //nolint:unconvert // other systems have other types
		return false
	}
	if retry(func() error { return unix.Fstatfs(fd, &fs) }) != nil {
		return false
	}
	m := mounts{read: func() string {
		b, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			return ""
		}
		return string(b)
	}, statfs: statfs}
	return m.trusted(found{device, int64(fs.Type), int64(fs.Flags)}) //nolint:unconvert // likewise
}

func statfs(path string) (found, bool) {
	var st unix.Stat_t
	var fs unix.Statfs_t
	if retry(func() error { return unix.Stat(path, &st) }) != nil || retry(func() error { return unix.Statfs(path, &fs) }) != nil {
		return found{}, false
	}
	return found{uint64(st.Dev), int64(fs.Type), int64(fs.Flags)}, true //nolint:unconvert // likewise
}

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// found is what the kernel says of a file system.
type found struct {
	device      uint64
	magic, flag int64
}

// mounts is what is mounted in this process's view.
type mounts struct {
	read   func() string // mountinfo, see proc(5)
	statfs func(path string) (found, bool)
	lines  []mount
}

// mount is a line of mountinfo.
type mount struct {
	device  string // major:minor
	fs      string
	options []string // of the file system, not of the place where it is mounted
}

// trusted reports whether a file system sets change times itself, as do those below it.
// Mountinfo is read only for an overlay, and for what is read-only here.
func (m *mounts) trusted(f found) bool {
	if unix.Major(f.device) == loopMajor {
		return false // made elsewhere, whoever writes to it here
	}
	if f.magic == unix.OVERLAYFS_SUPER_MAGIC {
		return m.overlays()
	}
	if !slices.Contains(kept, f.magic) {
		return false
	}
	return f.flag&unix.ST_RDONLY == 0 || m.writable(f.device)
}

// writable reports whether a file system that is read-only at one place is written to at
// others, as where a container sees a directory of its host.
func (m *mounts) writable(device uint64) bool {
	name := strconv.Itoa(int(unix.Major(device))) + ":" + strconv.Itoa(int(unix.Minor(device)))
	rw := false
	for _, l := range m.all() {
		if l.device == name {
			rw = slices.Contains(l.options, "rw")
			break
		}
	}
	return rw
}

// overlays reports whether every overlay is of directories, all of which can be seen here,
// on trusted file systems that are no overlays. Which overlay a file belongs to its device number does not tell.
func (m *mounts) overlays() bool {
	known := false
	for _, l := range m.all() {
		if l.fs != "overlay" {
			continue
		}
		layers := overlayLayers(l.options)
		if len(layers) == 0 {
			return false
		}
		for _, dir := range layers {
			f, ok := m.statfs(dir)
			if !strings.HasPrefix(dir, "/") || !ok || f.magic == unix.OVERLAYFS_SUPER_MAGIC || !m.trusted(f) {
				return false
			}
		}
		known = true
	}
	return known
}

// overlayLayers returns the directories that an overlay's options name; none if one of
// them cannot be read.
func overlayLayers(options []string) (dirs []string) {
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		switch name {
		case "lowerdir", "lowerdir+", "datadir+":
			if strings.ContainsAny(value, `\,`) || strings.Contains(value, "::") {
				return nil
			}
			dirs = append(dirs, strings.Split(value, ":")...)
		case "upperdir":
			if strings.Contains(value, `\`) {
				return nil
			}
			dirs = append(dirs, value)
		}
	}
	return dirs
}

// all returns the lines of mountinfo.
func (m *mounts) all() []mount {
	if m.lines != nil {
		return m.lines
	}
	m.lines = []mount{}
	for line := range strings.Lines(m.read()) {
		// 36 35 98:0 /root /at rw,noatime master:1 - ext3 /dev/root rw,errors=continue
		place, fs, ok := strings.Cut(line, " - ")
		at, of := strings.Fields(place), strings.Fields(fs)
		if ok && len(at) > 2 && len(of) > 2 {
			m.lines = append(m.lines, mount{at[2], of[0], strings.Split(of[len(of)-1], ",")})
		}
	}
	return m.lines
}
