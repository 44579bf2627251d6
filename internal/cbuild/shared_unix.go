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
	in, err := forAll(root)
	if err != nil {
		return err
	}
	unlock, err := locked(in, "lock")
	if err != nil {
		return err
	}
	defer unlock()
	if err := script(root, in); err != nil {
		return err
	}
	made, err := filepath.Glob(filepath.Join(in, "lib*.so*"))
	if err != nil || len(made) == 0 {
		return fmt.Errorf("nothing in %s: %w", in, err)
	}
	return copied(out, made...)
}

// sharedShim is shared for one shim and its builds with sanitizers.
func sharedShim(root, shim, name, out string) error {
	in, err := forAll(root)
	if err != nil {
		return err
	}
	for _, targets := range [][]string{{"all"}, sanitizers} {
		lock := "lock" // of the shim without sanitizers: shared makes that, too
		if targets[0] != "all" {
			lock = "lock-" + shim
		}
		unlock, err := locked(in, lock)
		if err != nil {
			return err
		}
		err = makeShim(root, shim, in, targets...)
		for _, target := range targets {
			if target == "all" {
				target = "."
			}
			if err == nil {
				err = copied(filepath.Join(out, target), filepath.Join(in, target, name))
			}
		}
		unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// forAll is the folder where the tests of all packages build.
func forAll(root string) (string, error) {
	in := filepath.Join(root, "lib", ".tests")
	if err := os.MkdirAll(in, 0o755); err != nil {
		return "", fmt.Errorf("%w: %w", errAlone, err)
	}
	return in, nil
}

// locked waits for a lock among processes and threads. It holds until unlock.
func locked(in, name string) (unlock func(), err error) {
	lock, err := os.OpenFile(filepath.Join(in, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAlone, err)
	}
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
		if err == nil {
			return func() { lock.Close() }, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			lock.Close()
			return nil, fmt.Errorf("%w: %w", errAlone, err)
		}
	}
}

// copied copies files into a folder, which it makes where it is not there.
func copied(to string, files ...string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	// -a keeps links, and hurries where the file system shares what is equal.
	if log, err := exec.Command("cp", append(append([]string{"-a"}, files...), to)...).CombinedOutput(); err != nil {
		return fmt.Errorf("copy the libraries: %w\n%s", err, log)
	}
	return nil
}
