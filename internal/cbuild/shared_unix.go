//go:build unix

package cbuild

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// shared builds the libraries where the tests of all packages do (lib/.tests, which is
// not under version control and goes with make clean), and copies them to out. What is up to
// date there is not linked anew: that is most of the time. One process builds at a time,
// and each has a copy, which nobody replaces while its tests run.
func shared(root, out string) error {
	in := filepath.Join(root, "lib", ".tests")
	if err := os.MkdirAll(in, 0o755); err != nil {
		return fmt.Errorf("%w: %w", errAlone, err)
	}
	lock, err := os.OpenFile(filepath.Join(in, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("%w: %w", errAlone, err)
	}
	defer lock.Close()
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("%w: %w", errAlone, err)
		}
	}
	if err := script(root, in); err != nil {
		return err
	}
	made, err := filepath.Glob(filepath.Join(in, "lib*.so*"))
	if err != nil || len(made) == 0 {
		return fmt.Errorf("nothing in %s: %w", in, err)
	}
	// -a keeps links, and hurries where the file system shares what is equal.
	if log, err := exec.Command("cp", append(append([]string{"-a"}, made...), out)...).CombinedOutput(); err != nil {
		return fmt.Errorf("copy the libraries: %w\n%s", err, log)
	}
	return nil
}
