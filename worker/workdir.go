package worker

import (
	"io/fs"
	"os"
)

// The directory in which a worker's builders work is held open, so that no other has its
// number. Who removes a cache removes it too, while the lock is still held, on a file that
// nobody finds any more: what is at the path by then is another cache, which may have a
// worker of its own.

// moved reports whether a directory is no longer where it was.
func moved(dir *os.Root) bool {
	held, err := dir.Stat(".")
	if err != nil {
		return true
	}
	now, err := os.Lstat(dir.Name())
	return err != nil || !os.SameFile(held, now)
}

// empty removes all that is in a directory.
func empty(dir *os.Root) {
	names, _ := fs.ReadDir(dir.FS(), ".")
	for _, n := range names {
		_ = dir.RemoveAll(n.Name())
	}
}
