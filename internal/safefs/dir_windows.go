package safefs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"
)

func (d Dir) handle() windows.Handle { return windows.Handle(d.fd - 1) }

// OpenRoot opens the directory that everything else happens below. Reparse
// points in the path that leads to it are followed, but it must not itself be
// one.
func OpenRoot(path string, o Options) (Dir, Info, error) {
	name, err := windows.UTF16PtrFromString(longPath(path))
	if err != nil {
		return Dir{}, Info{}, pathError("open", path, err)
	}
	var h windows.Handle
	err = o.Hook.do(OpOpen, func() (err error) {
		h, err = windows.CreateFile(name, dirRights, shareAll, nil, windows.OPEN_EXISTING,
			windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
		return err
	})
	if err != nil {
		return Dir{}, Info{}, pathError("open", path, err)
	}
	d := Dir{int(h) + 1, o, identity{}}
	info, err := d.Stat()
	switch {
	case err != nil:
	case info.Kind == Other:
		err = pathError("open", path, syscall.ELOOP)
	case info.Kind != Directory:
		err = pathError("open", path, syscall.ENOTDIR)
	}
	if err != nil {
		d.Close()
		return Dir{}, Info{}, err
	}
	return d, info, nil
}

// longPath lets a path be longer than MAX_PATH.
func longPath(path string) string {
	const most = 240
	if len(path) < most || strings.HasPrefix(path, `\\`) || filepath.VolumeName(path) == "" {
		return path
	}
	return `\\?\` + filepath.Clean(path)
}

// Stat returns what the directory is now.
func (d Dir) Stat() (i Info, err error) {
	err = d.o.Hook.do(OpFstat, func() (err error) {
		i, err = ntInfoNow(d.handle())
		return err
	})
	return i, pathError("stat", ".", err)
}

// Close ends the handle.
func (d Dir) Close() error { return pathError("close", ".", closeFD(d.fd-1, d.o.Hook)) }

func closeFD(fd int, h *Hook) error {
	fault := h.ask(OpClose)
	if err := windows.CloseHandle(windows.Handle(fd)); err != nil {
		return err
	}
	return fault
}

// open opens what is there.
func (d Dir) open(op Op, path string, access, options uint32) (fd int, err error) {
	if err := checkPath("open", path); err != nil {
		return -1, ErrPath
	}
	err = d.o.Hook.do(op, func() (err error) {
		fd, err = ntOpen(d.handle(), path, access, windows.FILE_OPEN, options)
		return err
	})
	return fd, err
}

// OpenDir opens a directory at a path below d.
func (d Dir) OpenDir(path string) (Dir, error) {
	fd, err := d.open(OpOpenat, path, dirRights, windows.FILE_DIRECTORY_FILE)
	if err != nil {
		return Dir{}, pathError("open", path, err)
	}
	return Dir{fd + 1, d.o, identity{}}, nil
}

// Open opens a file at a path below d for reading, without waiting for
// anything, and returns what it is: the caller decides whether to read it. Its
// time can be set too, if the user may do that.
func (d Dir) Open(path string) (File, Info, error) {
	f, info, err := d.openFile(path, readRights|windows.FILE_WRITE_ATTRIBUTES, 0)
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		f, info, err = d.openFile(path, readRights, 0)
	}
	return f, info, err
}

// OpenWrite opens a file that is there for reading and writing.
func (d Dir) OpenWrite(path string) (File, Info, error) {
	return d.openFile(path, writeRights, windows.FILE_NON_DIRECTORY_FILE)
}

func (d Dir) openFile(path string, access, options uint32) (File, Info, error) {
	fd, err := d.open(OpOpenat, path, access, options)
	if err != nil {
		return File{}, Info{}, pathError("open", path, err)
	}
	f := File{fd + 1, d.o.Hook, identity{}}
	var i Info
	err = d.o.Hook.do(OpFstat, func() (err error) {
		i, err = ntInfo(f.handle())
		return err
	})
	if err != nil {
		f.Close()
		return File{}, Info{}, pathError("stat", path, err)
	}
	return f, i, nil
}

// Create makes a file of a new name in d, for reading, writing and renaming.
// Who may use it is inherited from d.
func (d Dir) Create(name string) (File, error) {
	fd, err := d.create(OpCreate, name, writeRights|windows.DELETE, windows.FILE_NON_DIRECTORY_FILE)
	if err != nil {
		return File{}, pathError("create", name, err)
	}
	return File{fd + 1, d.o.Hook, identity{}}, nil
}

// Mkdir makes a directory in d. Who may use it is inherited from d.
func (d Dir) Mkdir(name string) error {
	fd, err := d.create(OpMkdir, name, windows.FILE_READ_ATTRIBUTES, windows.FILE_DIRECTORY_FILE)
	if err == nil {
		windows.CloseHandle(windows.Handle(fd))
	}
	return pathError("mkdir", name, err)
}

func (d Dir) create(op Op, name string, access, options uint32) (fd int, err error) {
	if err := checkOne(name); err != nil {
		return -1, err
	}
	err = d.o.Hook.do(op, func() (err error) {
		fd, err = ntOpen(d.handle(), name, access, windows.FILE_CREATE, options|windows.FILE_OPEN_REPARSE_POINT)
		return err
	})
	return fd, err
}

// checkOne refuses what is not one plain name.
func checkOne(name string) error {
	if strings.Contains(name, "/") || checkPath("", name) != nil {
		return ErrPath
	}
	return nil
}

// Lstat returns what the name in d is; it follows no link.
func (d Dir) Lstat(name string) (i Info, err error) {
	err = d.at(OpFstatat, name, windows.FILE_READ_ATTRIBUTES, 0, func(h windows.Handle) error {
		i, err = ntInfo(h)
		return err
	})
	return i, pathError("stat", name, err)
}

// Remove removes a name in d that is not a directory.
func (d Dir) Remove(name string) error {
	err := d.at(OpUnlink, name, windows.DELETE, windows.FILE_NON_DIRECTORY_FILE, ntDelete)
	return pathError("remove", name, err)
}

// Rmdir removes an empty directory in d.
func (d Dir) Rmdir(name string) error {
	err := d.at(OpRmdir, name, windows.DELETE, windows.FILE_DIRECTORY_FILE, ntDelete)
	return pathError("rmdir", name, err)
}

// Rename gives the file called name in d the name to in dir, replacing what
// has it.
func (d Dir) Rename(name string, dir Dir, to string) error {
	if err := checkOne(to); err != nil {
		return pathError("rename", to, err)
	}
	err := d.at(OpRename, name, windows.DELETE, 0, func(h windows.Handle) error {
		return ntRename(h, dir.handle(), to, true)
	})
	return pathError("rename", to, err)
}

// at does something with what has a name, links themselves included.
func (d Dir) at(op Op, name string, access, options uint32, do func(windows.Handle) error) error {
	if err := checkOne(name); err != nil {
		return err
	}
	return d.o.Hook.do(op, func() error {
		fd, err := ntOpen(d.handle(), name, access, windows.FILE_OPEN, options|windows.FILE_OPEN_REPARSE_POINT)
		if err != nil {
			return err
		}
		defer windows.CloseHandle(windows.Handle(fd))
		return do(windows.Handle(fd))
	})
}

// Each calls f with every name in d, in no order, until f returns false.
// Names that come or go meanwhile may be seen or not.
func (d Dir) Each(f func(name string) bool) error {
	var fd int
	err := d.o.Hook.do(OpOpenat, func() (err error) { // with a reading position of its own
		fd, err = ntOpen(d.handle(), "", dirRights, windows.FILE_OPEN, windows.FILE_DIRECTORY_FILE)
		return err
	})
	if err != nil {
		return pathError("open", ".", err)
	}
	list := os.NewFile(uintptr(fd), ".")
	defer list.Close()
	for {
		if err := d.o.Hook.ask(OpGetdents); err != nil {
			return pathError("list", ".", err)
		}
		names, err := list.Readdirnames(512)
		for _, n := range names {
			if !f(n) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return pathError("list", ".", err)
		}
	}
}

// EachOnce is Each for who opened d and calls it once.
func (d Dir) EachOnce(f func(name string) bool) error { return d.Each(f) }
