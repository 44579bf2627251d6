//go:build linux || darwin

package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// look says what path leads to. An error means that this is not known.
func look(path string) (Kind, Stamp, error) {
	var st unix.Stat_t
	return looked(&st, retry(func() error { return unix.Stat(path, &st) }))
}

// lookAt is look for a last component that is not followed if it is a link.
func lookAt(path string) (w Way, err error) {
	var st unix.Stat_t
	w.Kind, w.Stamp, err = looked(&st, retry(func() error { return unix.Lstat(path, &st) }))
	switch w.Kind {
	case Link:
		w.Target, _ = os.Readlink(path)
	case Directory:
		w.Kind = RealDirectory
	}
	return w, err
}

func looked(st *unix.Stat_t, err error) (Kind, Stamp, error) {
	switch {
	case errors.Is(err, unix.ENOENT):
		return Nothing, Stamp{}, nil
	case errors.Is(err, unix.ENOTDIR):
		return noDirectory, Stamp{}, nil
	case err != nil:
		return Nothing, Stamp{}, err
	}
	s := Stamp{
		Inode{uint64(st.Dev), uint64(st.Ino)}, //nolint:unconvert // other systems have other types
		st.Size, st.Mtim.Nano(), st.Ctim.Nano(),
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return Regular, s, nil
	case unix.S_IFDIR:
		return Directory, s, nil
	case unix.S_IFLNK:
		return Link, s, nil
	}
	return Special, s, nil
}

// read returns the content of a regular file, of at most limit bytes, and its
// stamp. It never waits for another process.
func read(path string, limit int64) ([]byte, Stamp, error) {
	fd := -1
	err := retry(func() (err error) {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		return err
	})
	if err != nil {
		return nil, Stamp{}, err
	}
	defer func() { _ = unix.Close(fd) }()
	before, err := lookOpen(fd)
	if err != nil {
		return nil, Stamp{}, err
	}
	if before.Size > limit {
		return nil, Stamp{}, ErrTooMuch
	}
	content := make([]byte, before.Size)
	for done := 0; done < len(content); {
		n := 0
		err := retry(func() (err error) {
			n, err = unix.Read(fd, content[done:])
			return err
		})
		if err != nil || n <= 0 {
			return nil, Stamp{}, ErrChanging
		}
		done += n
	}
	if after, err := lookOpen(fd); err != nil || after != before {
		return nil, Stamp{}, ErrChanging
	}
	return content, before, nil
}

func lookOpen(fd int) (Stamp, error) {
	var st unix.Stat_t
	k, s, err := looked(&st, retry(func() error { return unix.Fstat(fd, &st) }))
	if err == nil && k != Regular {
		err = errSpecial
	}
	return s, err
}

func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
