//go:build linux || darwin

package safefs

import (
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	dirFlags  = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NOFOLLOW
	fileFlags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK
)

// Dir is an open directory. The zero Dir is not open.
type Dir struct {
	fd int // descriptor + 1, so that the zero value is not descriptor 0
	o  Options
	id identity
}

// File is an open file. The zero File is not open.
type File struct {
	fd   int // likewise
	hook *Hook
	id   identity
}

// identity is what a descriptor was opened as, where it is kept; zero: not known. In a
// process that is not ours somebody may close all descriptors, and open files of his
// own: nothing is to be written to them, made in them, or closed.
type identity struct{ dev, ino uint64 }

// IsOpen says whether f was opened. It does not know of Close.
func (f File) IsOpen() bool { return f.fd != 0 }

// FD returns the descriptor, which f keeps.
func (f File) FD() int { return f.fd - 1 }

// OpenRoot opens the directory that everything else happens below. Links in
// the path that leads to it are followed, but it must not itself be one.
func OpenRoot(path string, o Options) (Dir, Info, error) {
	var fd int
	err := o.Hook.do(OpOpen, func() (err error) {
		fd, err = unix.Open(path, dirFlags, 0)
		return err
	})
	if err != nil {
		return Dir{}, Info{}, pathError("open", path, err)
	}
	d := Dir{fd + 1, o, identity{}}
	info, err := d.Stat()
	if err != nil {
		d.Close()
		return Dir{}, Info{}, err
	}
	d.id = identity{info.Dev, info.Ino}
	return d, info, nil
}

// Stat returns what the directory is now.
func (d Dir) Stat() (Info, error) {
	var st unix.Stat_t
	if err := d.o.Hook.do(OpFstat, func() error { return unix.Fstat(d.fd-1, &st) }); err != nil {
		return Info{}, pathError("stat", ".", err)
	}
	if d.id != (identity{}) && identityOf(&st) != d.id {
		return Info{}, pathError("stat", ".", errForeign)
	}
	return info(&st), nil
}

// Close ends the descriptor.
func (d Dir) Close() error {
	if err := d.own(); err != nil {
		return pathError("close", ".", err)
	}
	return pathError("close", ".", closeFD(d.fd-1, d.o.Hook))
}

// OpenDir opens a directory at a path below d.
func (d Dir) OpenDir(path string) (Dir, error) {
	fd, err := d.open(path, dirFlags)
	if err != nil {
		return Dir{}, pathError("open", path, err)
	}
	opened := Dir{fd + 1, d.o, identity{}}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil {
		opened.id = identityOf(&st)
	}
	return opened, nil
}

// Open opens a file at a path below d for reading, without waiting for
// anything, and returns what it is: the caller decides whether to read it.
func (d Dir) Open(path string) (File, Info, error) { return d.openFile(path, fileFlags) }

// OpenWrite opens a file that is there for reading and writing.
func (d Dir) OpenWrite(path string) (File, Info, error) {
	f, info, err := d.openFile(path, fileFlags&^unix.O_RDONLY|unix.O_RDWR)
	if err != nil {
		return f, info, err
	}
	f.fd = high(f.fd-1) + 1
	f.id = identity{info.Dev, info.Ino}
	return f, info, err
}

func (d Dir) openFile(path string, flags int) (File, Info, error) {
	fd, err := d.open(path, flags)
	if err != nil {
		return File{}, Info{}, pathError("open", path, err)
	}
	var st unix.Stat_t
	if err := d.o.Hook.do(OpFstat, func() error { return unix.Fstat(fd, &st) }); err != nil {
		closeFD(fd, d.o.Hook)
		return File{}, Info{}, pathError("stat", path, err)
	}
	return File{fd + 1, d.o.Hook, identity{}}, info(&st), nil
}

// at makes a call that changes a name in d.
func (d Dir) at(op Op, verb, name string, call func() error) error {
	if err := checkName(verb, name); err != nil {
		return err
	}
	err := d.own()
	if err == nil {
		err = d.o.Hook.do(op, call)
	}
	return pathError(verb, name, err)
}

// Create makes a file of a new name in d, mode 0600, for reading and writing.
func (d Dir) Create(name string) (File, error) {
	var fd int
	err := d.at(OpCreate, "create", name, func() (err error) {
		const flags = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC | unix.O_NOFOLLOW
		fd, err = unix.Openat(d.fd-1, name, flags, 0o600)
		return err
	})
	if err != nil {
		return File{}, err
	}
	fd = high(fd)
	f := File{fd + 1, d.o.Hook, identity{}}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil {
		f.id = identityOf(&st)
	}
	f.unmask()
	return f, nil
}

// Mkdir makes a directory in d, mode 0700.
func (d Dir) Mkdir(name string) error {
	err := d.at(OpMkdir, "mkdir", name, func() error { return unix.Mkdirat(d.fd-1, name, 0o700) })
	if err != nil {
		return err
	}
	if info, err := d.Lstat(name); err == nil && info.Kind == Directory && info.Perm != 0o700 {
		_ = d.o.Hook.do(OpChmod, func() error { return unix.Fchmodat(d.fd-1, name, 0o700, 0) }) // see unmask
	}
	return nil
}

// Lstat returns what the name in d is; it follows no link.
func (d Dir) Lstat(name string) (Info, error) {
	if err := checkName("stat", name); err != nil {
		return Info{}, err
	}
	var st unix.Stat_t
	err := d.o.Hook.do(OpFstatat, func() error { return unix.Fstatat(d.fd-1, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return Info{}, pathError("stat", name, err)
	}
	return info(&st), nil
}

// Remove removes a name in d that is not a directory.
func (d Dir) Remove(name string) error {
	return d.at(OpUnlink, "remove", name, func() error { return unix.Unlinkat(d.fd-1, name, 0) })
}

// Rmdir removes an empty directory in d.
func (d Dir) Rmdir(name string) error {
	return d.at(OpRmdir, "rmdir", name, func() error { return unix.Unlinkat(d.fd-1, name, unix.AT_REMOVEDIR) })
}

// Rename gives the file called name in d the name to in dir, replacing what
// has it.
func (d Dir) Rename(name string, dir Dir, to string) error {
	if err := checkName("rename", name); err != nil {
		return err
	}
	if err := d.own(); err != nil {
		return pathError("rename", name, err)
	}
	return dir.at(OpRename, "rename", to, func() error { return unix.Renameat(d.fd-1, name, dir.fd-1, to) })
}

// link gives the file called name in d a second name in dir, which nothing has.
func (d Dir) link(name string, dir Dir, to string) error {
	return pathError("link", to, d.o.Hook.do(OpLink, func() error {
		return unix.Linkat(d.fd-1, name, dir.fd-1, to, 0)
	}))
}

// Each calls f with every name in d, in no order, until f returns false.
// Names that come or go meanwhile may be seen or not.
func (d Dir) Each(f func(name string) bool) error {
	fd, err := d.reopen()
	if err != nil {
		return pathError("open", ".", err)
	}
	defer closeFD(fd, d.o.Hook)
	return d.list(fd, f)
}

// EachOnce is Each for who opened d and calls it once: it moves d's own reading
// position, which saves opening d again.
func (d Dir) EachOnce(f func(name string) bool) error { return d.list(d.fd-1, f) }

// listing is room for one read of a directory.
type listing struct {
	raw   [16 << 10]byte
	names []string
}

var listings = sync.Pool{New: func() any { return new(listing) }}

func (d Dir) list(fd int, f func(name string) bool) error {
	l := listings.Get().(*listing)
	defer listings.Put(l)
	for {
		var n int
		err := d.o.Hook.do(OpGetdents, func() (err error) {
			n, err = unix.ReadDirent(fd, l.raw[:])
			return err
		})
		if err != nil {
			return pathError("list", ".", err)
		}
		if n <= 0 {
			return nil
		}
		_, _, l.names = unix.ParseDirent(l.raw[:n], -1, l.names[:0])
		for _, name := range l.names {
			if !f(name) {
				return nil
			}
		}
	}
}

// reopen returns a descriptor of d with a reading position of its own.
func (d Dir) reopen() (fd int, err error) {
	err = d.o.Hook.do(OpOpenat, func() (err error) {
		fd, err = unix.Openat(d.fd-1, ".", dirFlags, 0)
		return err
	})
	return fd, err
}

// openStep opens a path component by component: every link is refused.
func (d Dir) openStep(path string, flags int) (int, error) {
	at := d.fd - 1
	for {
		name, rest, more := strings.Cut(path, "/")
		if checkName("open", name) != nil {
			if at != d.fd-1 {
				closeFD(at, d.o.Hook)
			}
			return -1, ErrPath
		}
		f := flags
		if more {
			f = dirFlags
		}
		var fd int
		err := d.o.Hook.do(OpOpenat, func() (err error) {
			fd, err = unix.Openat(at, name, f, 0)
			return err
		})
		if at != d.fd-1 {
			closeFD(at, d.o.Hook)
		}
		if err != nil || !more {
			return fd, err
		}
		at, path = fd, rest
	}
}

func info(st *unix.Stat_t) Info {
	k := Other
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		k = Regular
	case unix.S_IFDIR:
		k = Directory
	}
	return Info{
		Kind: k, Perm: uint32(st.Mode) & 0o777, UID: st.Uid, Links: uint64(st.Nlink),
		Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
	}
}
