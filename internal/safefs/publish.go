package safefs

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
)

// Publish makes a file of these contents appear in d, complete or not at all, mode 0600 and
// with this modification time. With replace it takes the place of whatever has the name, a
// directory excepted; without, a name that is taken is an error that is [fs.ErrExist]. tmp
// is where the file has a name before, where it has to have one, in the same file system.
// Nothing is forced to the medium: whoever reads the file checks its digests.
func (d Dir) Publish(tmp Dir, name string, replace bool, mtime int64, contents ...[]byte) error {
	if err := checkName("publish", name); err != nil {
		return err
	}
	if !replace && !d.o.NoTmpfile {
		err := d.publishUnnamed(name, mtime, contents)
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	temp := fmt.Sprintf("%s.%d.%016x", TempPrefix, os.Getpid(), rand.Uint64())
	f, err := tmp.Create(temp)
	if err != nil {
		return err
	}
	err = f.fill(mtime, contents)
	f.Close()
	switch {
	case err != nil:
	case replace:
		err = tmp.Rename(temp, d, name)
	default:
		err = tmp.link(temp, d, name)
		if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			// A file system without hard links. The caller holds the lock that
			// keeps others from this name.
			if _, lerr := d.Lstat(name); lerr == nil {
				err = pathError("link", name, fs.ErrExist)
			} else {
				err = tmp.Rename(temp, d, name)
			}
		}
	}
	if err != nil || !replace {
		_ = tmp.Remove(temp) // gone already after a rename
	}
	return err
}

// Write makes a file of these contents in d, mode 0600 and with this modification time, under its
// name from the beginning on: others may see a part of it, and a killed process leaves one. A name
// that is taken is an error that is [fs.ErrExist].
func (d Dir) Write(name string, mtime int64, contents ...[]byte) error {
	f, err := d.Create(name)
	if err != nil {
		return err
	}
	err = f.fill(mtime, contents)
	f.Close()
	if err != nil {
		_ = d.Remove(name)
	}
	return err
}

func (f File) fill(mtime int64, contents [][]byte) error {
	var off int64
	for _, b := range contents {
		if err := f.WriteAt(b, off); err != nil {
			return err
		}
		off += int64(len(b))
	}
	return f.SetMtime(mtime)
}
