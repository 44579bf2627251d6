package worker

import (
	"io/fs"
	"os"
)

// ground is the directory in which a worker's builders work, held open, so that no
// other has its number. Who removes a cache removes it too, while the lock is still
// held, on a file that nobody finds any more: what is at the path by then is another
// cache, which may have a worker of its own.
type ground struct{ dir *os.Root }

func stand(path string) (ground, error) {
	dir, err := os.OpenRoot(path)
	return ground{dir}, err
}

// gone says whether the directory is no longer where it was.
func (g ground) gone() bool {
	held, err := g.dir.Stat(".")
	if err != nil {
		return true
	}
	now, err := os.Lstat(g.dir.Name())
	return err != nil || !os.SameFile(held, now)
}

// clear removes all that is in it.
func (g ground) clear() {
	names, err := fs.ReadDir(g.dir.FS(), ".")
	if err != nil {
		return
	}
	for _, n := range names {
		_ = g.dir.RemoveAll(n.Name())
	}
}

func (g ground) leave() { _ = g.dir.Close() }
