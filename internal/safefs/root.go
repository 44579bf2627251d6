//go:build !linux && !darwin

package safefs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Dir is an open directory. The zero Dir is not open. Here it is a path below the root,
// which os.Root keeps every call below; that no link inside is followed is checked before.
// What the methods promise is said in dir_unix.go and file_unix.go.
type Dir struct {
	root *os.Root
	path string
	o    Options
}

// File is an open file. The zero File is not open.
type File struct {
	f    *os.File
	dir  Dir
	path string
}

func OpenRoot(name string, o Options) (Dir, Info, error) {
	if !supported {
		return Dir{}, Info{}, pathError("open", name, ErrUnsupported)
	}
	d := Dir{path: ".", o: o}
	err := o.Hook.do(OpOpen, func() (err error) {
		d.root, err = openBelowParent(name)
		return err
	})
	if err != nil {
		return Dir{}, Info{}, pathError("open", name, err)
	}
	info, err := d.Stat()
	if err != nil {
		d.Close()
		return Dir{}, Info{}, err
	}
	return d, info, nil
}

// openBelowParent opens a directory by its parent: so others may remove it meanwhile.
func openBelowParent(name string) (*os.Root, error) {
	parent, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	base := filepath.Base(name)
	info, err := parent.Lstat(base)
	if err == nil {
		err = directory(info)
	}
	if err != nil {
		return nil, err
	}
	return parent.OpenRoot(base)
}

// directory returns an error for what is no directory.
func directory(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return nil
	case info.Mode().IsRegular():
		return syscall.ENOTDIR
	}
	return syscall.ELOOP
}

// Close closes the root, if d is that.
func (d Dir) Close() error {
	if d.root == nil || d.path != "." {
		return nil
	}
	return d.do(OpClose, "close", ".", d.root.Close)
}

// do makes a call, and says which.
func (d Dir) do(op Op, verb, name string, call func() error) error {
	err := d.o.Hook.do(op, call)
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	return pathError(verb, name, err)
}

// at makes a call with the path of a name in d.
func (d Dir) at(op Op, verb, name string, call func(path string) error) error {
	if err := checkPlain(verb, name); err != nil {
		return err
	}
	return d.do(op, verb, name, func() error { return call(path.Join(d.path, name)) })
}

// below makes a call with a path below d, on which there is no link.
func (d Dir) below(op Op, verb, name string, call func(path string) error) error {
	at := d.path
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if err := checkPlain(verb, part); err != nil {
			return err
		}
		at = path.Join(at, part)
		err := d.do(OpFstatat, verb, name, func() error {
			info, err := d.root.Lstat(at)
			if err == nil && (i < len(parts)-1 || !info.Mode().IsRegular()) {
				err = directory(info)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return d.do(op, verb, name, func() error { return call(at) })
}

// checkPlain refuses what is not one plain name: Windows has more ways than one to write
// "above", and a colon leads into a stream.
func checkPlain(op, name string) error {
	if strings.ContainsAny(name, `\:*?"<>|`) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		return pathError(op, name, ErrPath)
	}
	return checkName(op, name)
}

func (d Dir) Stat() (i Info, err error) {
	err = d.do(OpFstat, "stat", ".", func() (err error) {
		i, err = d.infoAt(d.path)
		return err
	})
	return i, err
}

func (d Dir) infoAt(path string) (Info, error) {
	f, err := d.root.Open(path)
	if err != nil {
		return Info{}, err
	}
	defer f.Close()
	return infoOf(f)
}

func (d Dir) Lstat(name string) (i Info, err error) {
	err = d.at(OpFstatat, "stat", name, func(path string) error {
		info, err := d.root.Lstat(path)
		if err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			i, err = d.infoAt(path)
		}
		return err
	})
	return i, err
}

func (d Dir) OpenDir(name string) (Dir, error) {
	sub := Dir{root: d.root, o: d.o}
	err := d.below(OpOpenat, "open", name, func(path string) error {
		sub.path = path
		info, err := d.root.Lstat(path)
		if err == nil {
			err = directory(info)
		}
		return err
	})
	if err != nil {
		return Dir{}, err
	}
	return sub, nil
}

func (d Dir) Open(name string) (File, Info, error) { return d.openFile(name, os.O_RDONLY) }

func (d Dir) OpenWrite(name string) (File, Info, error) { return d.openFile(name, os.O_RDWR) }

func (d Dir) openFile(name string, flags int) (File, Info, error) {
	f := File{dir: d}
	err := d.below(OpOpenat, "open", name, func(path string) (err error) {
		f.path = path
		f.f, err = d.root.OpenFile(path, flags, 0)
		return err
	})
	if err != nil {
		return File{}, Info{}, err
	}
	i, err := f.Stat()
	if err != nil {
		f.Close()
		return File{}, Info{}, err
	}
	return f, i, nil
}

// Create makes a file of a new name in d, for reading and writing. Who may use it is
// inherited from d.
func (d Dir) Create(name string) (File, error) {
	f := File{dir: d}
	err := d.at(OpCreate, "create", name, func(path string) (err error) {
		f.path = path
		f.f, err = d.root.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	return f, err
}

// Mkdir makes a directory in d, and opens it. Who may use it is inherited from d.
func (d Dir) Mkdir(name string) (Dir, error) {
	if err := d.at(OpMkdir, "mkdir", name, func(path string) error { return d.root.Mkdir(path, 0o700) }); err != nil {
		return Dir{}, err
	}
	return d.OpenDir(name)
}

func (d Dir) Remove(name string) error {
	return d.at(OpUnlink, "remove", name, func(path string) error { return d.remove(path, false) })
}

func (d Dir) Rmdir(name string) error {
	return d.at(OpRmdir, "rmdir", name, func(path string) error { return d.remove(path, true) })
}

func (d Dir) remove(path string, dir bool) error {
	info, err := d.root.Lstat(path)
	switch {
	case err != nil:
		return err
	case dir && !info.IsDir():
		return syscall.ENOTDIR
	case !dir && info.IsDir():
		return syscall.EISDIR
	}
	return d.root.Remove(path)
}

func (d Dir) Rename(name string, dir Dir, to string) error {
	return d.move(OpRename, "rename", name, dir, to, (*os.Root).Rename)
}

func (d Dir) link(name string, dir Dir, to string) error {
	return d.move(OpLink, "link", name, dir, to, (*os.Root).Link)
}

func (d Dir) move(op Op, verb, name string, dir Dir, to string, call func(r *os.Root, from, to string) error) error {
	if err := checkPlain(verb, name); err != nil {
		return err
	}
	return dir.at(op, verb, to, func(target string) error { return call(d.root, path.Join(d.path, name), target) })
}

func (d Dir) publishUnnamed(string, int64, [][]byte) error { return errors.ErrUnsupported }

func (d Dir) Each(f func(name string) bool) error {
	return d.do(OpGetdents, "list", ".", func() error {
		list, err := d.root.Open(d.path)
		if err != nil {
			return err
		}
		defer list.Close()
		for {
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
				return err
			}
		}
	})
}

func (f File) IsOpen() bool       { return f.f != nil }
func (f File) FD() int            { return int(f.f.Fd()) }
func (f File) Before(op Op) error { return f.dir.o.Hook.ask(op) }
func (f File) Own() error         { return nil } // that somebody else closed it is not found out here
func (f File) Close() error       { return f.dir.do(OpClose, "close", "file", f.f.Close) }

func (f File) Stat() (i Info, err error) {
	err = f.dir.do(OpFstat, "stat", "file", func() (err error) {
		i, err = infoOf(f.f)
		return err
	})
	return i, err
}

func (f File) ReadAt(b []byte, off int64) (n int, err error) {
	err = f.dir.do(OpPread, "read", "file", func() (err error) {
		n, err = f.f.ReadAt(b, off)
		return err
	})
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (f File) WriteAt(b []byte, off int64) error {
	return f.dir.do(OpPwrite, "write", "file", func() error {
		_, err := f.f.WriteAt(b, off)
		return err
	})
}

func (f File) SetMtime(ns int64) error {
	return f.dir.do(OpUtimens, "set time of", "file", func() error {
		return f.dir.root.Chtimes(f.path, time.Time{}, time.Unix(0, ns))
	})
}
