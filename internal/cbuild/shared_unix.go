//go:build unix

package cbuild

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// shared builds the libraries where the tests of all packages do (lib/.tests, which is
// not under version control and goes with make clean), and copies them to out. Nothing is
// done there where they are up to date. One process builds at a time, and each has a copy, which
// nobody replaces while its tests run.
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
	libraries := filepath.Join(in, "lib*.so*")
	made, _ := filepath.Glob(libraries)
	stamp := filepath.Join(in, "made-of")
	of, err := sources(root)
	if last, e := os.ReadFile(stamp); err != nil || e != nil || string(last) != of || len(made) == 0 {
		_ = os.Remove(stamp)
		if err := script(root, in); err != nil {
			return err
		}
		if made, _ = filepath.Glob(libraries); len(made) == 0 {
			return fmt.Errorf("nothing in %s", in)
		}
		if err == nil {
			_ = os.WriteFile(stamp, []byte(of), 0o600)
		}
	}
	return copied(out, made...)
}

// sources says what the libraries are made of: the folder, all files but those of tests with
// their sizes and times, what the compilers are, and the environment that they obey. find lists
// the files: where a test itself looks at them, go has it depend on all.
func sources(root string) (string, error) {
	var of strings.Builder
	for _, name := range []string{"go", CC(), "make"} {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", err
		}
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&of, path, info.Size(), info.ModTime().UnixNano())
	}
	env, err := exec.Command("go", "env", "GOVERSION", "GOROOT", "GOFLAGS", "GOEXPERIMENT", "GOARCH", "GOAMD64", "GOARM64",
		"CC", "CGO_CFLAGS", "CGO_CPPFLAGS", "CGO_LDFLAGS").Output()
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&of, "%s", env)
	for _, v := range []string{"GO", "CC", "CFLAGS", "CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "MAKE", "MAKEFLAGS"} {
		fmt.Fprintln(&of, v, os.Getenv(v))
	}
	find := exec.Command("find", root, "(", "-name", ".git", "-o", "-name", "testdata", "-o", "-path", filepath.Join(root, "lib"), ")", "-prune", "-o",
		"-type", "f", "!", "-name", "*_test.go", "-printf", "%p %s %T@ %C@\n")
	files, err := find.Output()
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(files), "\n")
	slices.Sort(lines)
	of.WriteString(strings.Join(lines, "\n"))
	return of.String(), nil
}

// sharedShim is shared for one shim and its builds with sanitizers, if any are wanted.
func sharedShim(root, shim, name, out string) error {
	in, err := forAll(root)
	if err != nil {
		return err
	}
	for _, targets := range [][]string{{"all"}, sanitizers()} {
		if len(targets) == 0 {
			continue
		}
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
