//go:build linux || darwin

package deps

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// look says what path leads to. An error means that this is not known.
func look(path string) (kind, stamp, error) {
	var st unix.Stat_t
	return looked(&st, retry(func() error { return unix.Stat(path, &st) }))
}

// lookAt is look for a last component that is not followed if it is a link.
func lookAt(path string) (kind, error) {
	var st unix.Stat_t
	k, _, err := looked(&st, retry(func() error { return unix.Lstat(path, &st) }))
	if k == aDirectory {
		k = realDirectory
	}
	return k, err
}

// lookWay looks at a path without following it if it is a link.
func lookWay(path string) way {
	var st unix.Stat_t
	k, s, err := looked(&st, retry(func() error { return unix.Lstat(path, &st) }))
	w := way{kind: k, stamp: s}
	switch {
	case err != nil:
		w.kind = nothing
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		w.kind = aLink
		w.target, _ = os.Readlink(path)
	case k == aDirectory:
		w.kind = realDirectory
	}
	return w
}

func looked(st *unix.Stat_t, err error) (kind, stamp, error) {
	switch {
	case errors.Is(err, unix.ENOENT):
		return nothing, stamp{}, nil
	case errors.Is(err, unix.ENOTDIR):
		return noDirectory, stamp{}, nil
	case err != nil:
		return nothing, stamp{}, err
	}
	s := stamp{
		inode{uint64(st.Dev), uint64(st.Ino)}, //nolint:unconvert // other systems have other types
		st.Size, st.Mtim.Nano(), st.Ctim.Nano(),
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return regular, s, nil
	case unix.S_IFDIR:
		return aDirectory, s, nil
	}
	return special, s, nil
}

// read returns the content of a regular file, of at most limit bytes, and its
// stamp. It never waits for another process.
func read(path string, limit int64) ([]byte, stamp, error) {
	fd := -1
	err := retry(func() (err error) {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		return err
	})
	if err != nil {
		return nil, stamp{}, err
	}
	defer func() { _ = unix.Close(fd) }()
	before, err := lookOpen(fd)
	if err != nil {
		return nil, stamp{}, err
	}
	if before.size > limit {
		return nil, stamp{}, errTooMuch
	}
	content := make([]byte, before.size)
	for done := 0; done < len(content); {
		n := 0
		err := retry(func() (err error) {
			n, err = unix.Read(fd, content[done:])
			return err
		})
		if err != nil || n <= 0 {
			return nil, stamp{}, errChanging
		}
		done += n
	}
	if after, err := lookOpen(fd); err != nil || after != before {
		return nil, stamp{}, errChanging
	}
	return content, before, nil
}

func lookOpen(fd int) (stamp, error) {
	var st unix.Stat_t
	k, s, err := looked(&st, retry(func() error { return unix.Fstat(fd, &st) }))
	if err == nil && k != regular {
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
