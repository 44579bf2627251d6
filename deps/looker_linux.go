package deps

import (
	"strings"

	"golang.org/x/sys/unix"
)

// walker keeps the directories open that lead to the last path, and looks for the next
// one from there: with paths in order, the kernel goes through each directory once
// instead of once for each file in it. A library's headers lie deep, and often behind
// symbolic links.
type walker struct {
	open []opened // each below the one before
}

// opened is a directory, by the path that led to it.
type opened struct {
	path string
	fd   int
}

// deepest is how many directories a walker keeps open.
const deepest = 32

func newWalker() *walker { return new(walker) }

func (w *walker) close() {
	for _, d := range w.open {
		_ = unix.Close(d.fd)
	}
	w.open = nil
}

func (w *walker) look(path string) (kind, stamp, error) {
	fd, name := w.at(path)
	if fd < 0 {
		return look(path)
	}
	var st unix.Stat_t
	return looked(&st, retry(func() error { return unix.Fstatat(fd, name, &st, 0) }))
}

func (w *walker) lookAt(path string) (kind, error) {
	fd, name := w.at(path)
	if fd < 0 {
		return lookAt(path)
	}
	var st unix.Stat_t
	k, _, err := looked(&st, retry(func() error { return unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) }))
	if k == aDirectory {
		k = realDirectory
	}
	return k, err
}

// at returns the open directory that a path's last component is looked for in; -1
// where it cannot be opened, so that a look at the whole path has to say why.
func (w *walker) at(path string) (fd int, name string) {
	slash := strings.LastIndexByte(path, '/')
	if slash <= 0 || slash+1 == len(path) {
		return -1, ""
	}
	dir, name := path[:slash], path[slash+1:]
	for len(w.open) > 0 {
		last := w.open[len(w.open)-1]
		if last.path == dir {
			return last.fd, name
		}
		if len(w.open) < deepest && len(dir) > len(last.path) && dir[len(last.path)] == '/' && dir[:len(last.path)] == last.path {
			break
		}
		_ = unix.Close(last.fd)
		w.open = w.open[:len(w.open)-1]
	}
	from, rest := unix.AT_FDCWD, dir
	if n := len(w.open); n > 0 {
		// No slash in front: that would be a path from the root.
		from, rest = w.open[n-1].fd, strings.TrimLeft(dir[len(w.open[n-1].path):], "/")
	}
	err := retry(func() (err error) {
		fd, err = unix.Openat(from, rest, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return -1, ""
	}
	w.open = append(w.open, opened{dir, fd})
	return fd, name
}
