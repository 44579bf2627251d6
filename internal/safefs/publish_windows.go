package safefs

import (
	"fmt"
	"math/rand/v2"
	"os"
)

// Publish makes a file of these contents appear in d, complete or not at all,
// and with this modification time. With replace it takes the place of whatever
// has the name, a directory excepted; without, a name that is taken is an
// error that is [fs.ErrExist]. tmp is where the file waits, on the same
// volume. Nothing is forced to the medium: whoever reads the file checks its
// digests.
func (d Dir) Publish(tmp Dir, name string, replace bool, mtime int64, contents ...[]byte) error {
	if err := checkOne(name); err != nil {
		return pathError("publish", name, err)
	}
	f, err := tmp.Create(fmt.Sprintf("%s.%d.%016x", TempPrefix, os.Getpid(), rand.Uint64()))
	if err != nil {
		return err
	}
	defer f.Close()
	err = f.fill(mtime, contents)
	if err == nil {
		op := OpLink
		if replace {
			op = OpRename
		}
		err = pathError("rename", name, d.o.Hook.do(op, func() error {
			return ntRename(f.handle(), d.handle(), name, replace)
		}))
	}
	if err != nil {
		_ = d.o.Hook.do(OpUnlink, func() error { return ntDelete(f.handle()) })
	}
	return err
}
