package elfid

import (
	"bytes"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Files returns the paths of the files that are mapped at addresses, as the kernel has them
// now; "" for what was deleted or replaced since, and where no file is mapped. Linux 6.11
// and later answer for one address; of others the whole list of mappings is read, which
// takes some 0.15 ms.
func Files(addrs []uintptr) []string {
	paths := make([]string, len(addrs))
	if queryAll(addrs, paths) {
		return paths
	}
	m := Loaded()
	for i, a := range addrs {
		at, _ := m.Find(a)
		paths[i] = at.Path
	}
	return paths
}

// query is struct procmap_query of linux/fs.h.
type query struct {
	size, flags, addr                   uint64
	start, end, vma, page, offset, node uint64
	major, minor                        uint32
	nameSize, idSize                    uint32
	name, id                            uint64
}

const queryRequest = 0xC0686611 // PROCMAP_QUERY

// queryAll reports whether the kernel answers.
func queryAll(addrs []uintptr, paths []string) bool {
	f, err := openLibrary("/proc/self/maps")
	if err != nil {
		return false
	}
	defer f.Close()
	name := make([]byte, unix.PathMax)
	var pinner runtime.Pinner // the kernel gets its address as a number
	pinner.Pin(&name[0])
	defer pinner.Unpin()
	for i, a := range addrs {
		q := query{addr: uint64(a), nameSize: uint32(len(name)), name: uint64(uintptr(unsafe.Pointer(&name[0])))}
		q.size = uint64(unsafe.Sizeof(q))
		switch _, _, err := unix.Syscall(unix.SYS_IOCTL, uintptr(f), queryRequest, uintptr(unsafe.Pointer(&q))); err {
		case 0:
			path, _, _ := bytes.Cut(name, []byte{0})
			if s := string(path); strings.HasPrefix(s, "/") && !strings.HasSuffix(s, " (deleted)") {
				paths[i] = s
			}
		case unix.ENOENT: // nothing is mapped there
		default:
			return false
		}
	}
	return true
}
