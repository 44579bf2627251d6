//go:build unix

package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openOwn opens a settings file that was found, not named: it decides what is
// compiled and how, so only its user and root may have had a hand in it. Links
// are followed, as those who manage such files with links expect; what they
// lead to is looked at. It waits for nothing, whatever lies there.
func openOwn(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkOwn(info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func checkOwn(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("ignored: not a regular file")
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("ignored: its owner cannot be told")
	}
	user := uint32(os.Geteuid())
	if st.Uid != user && st.Uid != 0 {
		return fmt.Errorf("ignored: it belongs to user %d", st.Uid)
	}
	// Where each user has a group of its own, which has the user's number,
	// editors make files that this group may write.
	if writers := info.Mode().Perm() & 0o022; writers != 0 && (writers != 0o020 || st.Gid != user) {
		return fmt.Errorf("ignored: others may write it (mode %04o); run: chmod go-w", info.Mode().Perm())
	}
	return nil
}
