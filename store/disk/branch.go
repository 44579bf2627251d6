package disk

import "github.com/kernstash/kernstash/internal/beneath"

// branch is the open directories of a leaf below its device, the leaf last.
type branch struct {
	names leafNames
	dirs  [len(leafNames{}) - 1]beneath.Dir
	open  int
}

// openBranch opens them one from the other, which is cheaper than the leaf alone and
// then those above it, for who removes all of them. The caller closes the branch,
// after an error too.
func openBranch(device beneath.Dir, names leafNames) (b branch, err error) {
	b.names = names
	at := device
	for i := range b.dirs {
		if at, err = at.OpenDir(names[i+1]); err != nil {
			return b, err
		}
		b.dirs[i] = at
		b.open++
	}
	return b, nil
}

func (b *branch) close() {
	for ; b.open > 0; b.open-- {
		b.dirs[b.open-1].Close()
	}
}

// prune removes the directories of an open branch as far as they are empty, closes
// those, and returns how many that are.
func (b *branch) prune(device beneath.Dir) (removed int) {
	for b.open > 0 {
		b.open--
		b.dirs[b.open].Close()
		parent := device
		if b.open > 0 {
			parent = b.dirs[b.open-1]
		}
		if parent.Rmdir(b.names[b.open+1]) != nil {
			return removed
		}
		removed++
	}
	return removed
}

// device is the open directory of a device, of which images are removed one after
// the other.
type device struct {
	name string
	dir  beneath.Dir
	ok   bool
}

// at opens the device of a name, unless it is open. ok says that it is there.
func (d *device) at(root beneath.Dir, name string) (ok bool) {
	if d.name != name {
		d.close(root)
		dir, err := root.OpenDir(name)
		*d = device{name, dir, err == nil}
	}
	return d.ok
}

// close ends it, and removes the directory if it is empty.
func (d *device) close(root beneath.Dir) {
	if d.ok {
		d.dir.Close()
		_ = root.Rmdir(d.name)
	}
	*d = device{}
}
