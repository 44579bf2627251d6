//go:build unix

package node

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// openFile opens a configuration that nobody else may have written: it says who is served.
func openFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := checkFile(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func checkFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !info.Mode().IsRegular():
		return errors.New("not a regular file")
	case st.Uid != 0 && st.Uid != uint32(os.Geteuid()):
		return fmt.Errorf("it belongs to user %d", st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others may write it (mode %04o); run: chmod go-w", info.Mode().Perm())
	}
	return nil
}
