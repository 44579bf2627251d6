package elfid

import (
	"bytes"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapQuery is struct procmap_query of linux/fs.h: since 6.11 Linux says what is mapped at an address when it is asked
// on /proc/self/maps. For the code of a process with a compiler of LLVM that takes a fifth of the time in which it
// writes the whole file.
type mapQuery struct {
	size, flags, addr           uint64
	start, end                  uint64
	access, page, offset, inode uint64
	major, minor                uint32
	nameSize, buildIDSize       uint32
	name, buildID               uint64
}

const (
	procmapQuery = 3<<30 | 104<<16 | 'f'<<8 | 17 // _IOWR('f', 17, struct procmap_query)

	queryReadable   = 0x01
	queryExecutable = 0x04
	queryNext       = 0x10 // the next one, where the address has none
	queryFile       = 0x20
)

// queryCode returns the code of files that is mapped; false: this kernel cannot be asked.
func queryCode() ([]Mapping, bool) {
	m := make([]Mapping, 0, 128) // a process with a compiler of LLVM has some 60
	var err error
	query(func(ask func(uintptr, uint64) (Mapping, error)) {
		var next Mapping
		for {
			if next, err = ask(next.End, queryNext|queryFile|queryExecutable); err != nil {
				return
			}
			if next.Path != "" {
				m = append(m, next)
			}
		}
	})
	return m, err == unix.ENOENT // there are no more
}

// queryAt returns what is mapped readable at an address.
func queryAt(addr uintptr) (at Mapping, ok bool) {
	query(func(ask func(uintptr, uint64) (Mapping, error)) {
		var err error
		at, err = ask(addr, queryReadable)
		ok = err == nil
	})
	return at, ok
}

// query calls f with a function that returns the mapping at an address that flags accept.
func query(f func(ask func(addr uintptr, flags uint64) (Mapping, error))) {
	fd, err := unix.Open("/proc/self/maps", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	q, name := new(mapQuery), new([unix.PathMax]byte)
	var pin runtime.Pinner
	pin.Pin(q)
	pin.Pin(name)
	defer pin.Unpin()
	f(func(addr uintptr, flags uint64) (Mapping, error) {
		*q = mapQuery{
			size: uint64(unsafe.Sizeof(*q)), flags: flags, addr: uint64(addr),
			nameSize: uint32(len(name)), name: uint64(uintptr(unsafe.Pointer(name))),
		}
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), procmapQuery, uintptr(unsafe.Pointer(q))); errno != 0 {
			return Mapping{}, errno
		}
		m := Mapping{Start: uintptr(q.start), End: uintptr(q.end)}
		path, _, _ := bytes.Cut(name[:q.nameSize], []byte{0})
		if len(path) > 0 && path[0] == '/' && !bytes.HasSuffix(path, []byte(deleted)) {
			m.Path = string(path)
		}
		return m, nil
	})
}
