//go:build linux || darwin

package safefs

import (
	"strings"

	"golang.org/x/sys/unix"
)

const (
	dirFlags  = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NOFOLLOW
	fileFlags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK
)

// Dir is an open directory. The zero Dir is not open.
type Dir struct {
	descriptor
	o Options
}

// File is an open file. The zero File is not open.
type File struct{ descriptor }

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
	d := Dir{descriptor{fd: fd + 1, hook: o.Hook}, o}
	info, err := d.Stat()
	if err != nil {
		d.Close()
		return Dir{}, Info{}, err
	}
	d.id = identity{info.Dev, info.Ino}
	return d, info, nil
}

// OpenDir opens a directory at a path below d.
func (d Dir) OpenDir(path string) (Dir, error) {
	sub, _, err := d.openDir(path)
	return sub, err
}

func (d Dir) openDir(path string) (Dir, Info, error) {
	fd, err := d.open(path, dirFlags)
	if err != nil {
		return Dir{}, Info{}, pathError("open", path, err)
	}
	sub := Dir{descriptor{fd: fd + 1, hook: d.hook}, d.o}
	return sub, sub.identify(), nil
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
	if err := d.hook.do(OpFstat, func() error { return unix.Fstat(fd, &st) }); err != nil {
		closeFD(fd, d.hook)
		return File{}, Info{}, pathError("stat", path, err)
	}
	return File{descriptor{fd: fd + 1, hook: d.hook}}, info(&st), nil
}

// at makes a call that changes a name in d.
func (d Dir) at(op Op, verb, name string, call func() error) error {
	if err := checkName(verb, name); err != nil {
		return err
	}
	err := d.own()
	if err == nil {
		err = d.hook.do(op, call)
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
	return created(fd, d.hook), nil
}

// Mkdir makes a directory in d, mode 0700, and opens it.
func (d Dir) Mkdir(name string) (Dir, error) {
	err := d.at(OpMkdir, "mkdir", name, func() error { return unix.Mkdirat(d.fd-1, name, 0o700) })
	if err != nil {
		return Dir{}, err
	}
	sub, info, err := d.openDir(name)
	if err == nil && info.Perm == 0o700 {
		return sub, nil
	}
	if err == nil {
		sub.Close()
	}
	_ = d.hook.do(OpChmod, func() error { return unix.Fchmodat(d.fd-1, name, 0o700, 0) }) // see created
	return d.OpenDir(name)
}

// Lstat returns what the name in d is; it follows no link.
func (d Dir) Lstat(name string) (Info, error) {
	if err := checkName("stat", name); err != nil {
		return Info{}, err
	}
	var st unix.Stat_t
	err := d.hook.do(OpFstatat, func() error { return unix.Fstatat(d.fd-1, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
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

// Rename gives the file called name in d the name to in dir, replacing what has it.
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
	return pathError("link", to, d.hook.do(OpLink, func() error {
		return unix.Linkat(d.fd-1, name, dir.fd-1, to, 0)
	}))
}

// Each calls f with every name in d, in no order, until f returns false.
// Names that come or go meanwhile may be seen or not.
func (d Dir) Each(f func(name string) bool) error {
	// A descriptor with a reading position of its own.
	var fd int
	err := d.hook.do(OpOpenat, func() (err error) {
		fd, err = unix.Openat(d.fd-1, ".", dirFlags, 0)
		return err
	})
	if err != nil {
		return pathError("open", ".", err)
	}
	defer closeFD(fd, d.hook)
	raw := make([]byte, 8<<10)
	for {
		var n int
		err := d.hook.do(OpGetdents, func() (err error) {
			n, err = unix.ReadDirent(fd, raw)
			return err
		})
		if err != nil {
			return pathError("list", ".", err)
		}
		if n <= 0 {
			return nil
		}
		_, _, names := unix.ParseDirent(raw[:n], -1, nil)
		for _, name := range names {
			if !f(name) {
				return nil
			}
		}
	}
}

// openStep opens a path component by component: every link is refused.
func (d Dir) openStep(path string, flags int) (int, error) {
	at := d.fd - 1
	for {
		name, rest, more := strings.Cut(path, "/")
		if checkName("open", name) != nil {
			if at != d.fd-1 {
				closeFD(at, d.hook)
			}
			return -1, ErrPath
		}
		f := flags
		if more {
			f = dirFlags
		}
		var fd int
		err := d.hook.do(OpOpenat, func() (err error) {
			fd, err = unix.Openat(at, name, f, 0)
			return err
		})
		if at != d.fd-1 {
			closeFD(at, d.hook)
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
