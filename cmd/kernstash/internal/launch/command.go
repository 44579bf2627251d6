package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// StartError is a command that could not be started.
type StartError struct {
	Name string
	Err  error
}

func (e *StartError) Error() string { return fmt.Sprintf("%s: %v", e.Name, e.Err) }

func (e *StartError) Unwrap() error { return e.Err }

// Status is what shells end with where a command cannot be started: 127 where
// there is none, else 126.
func (e *StartError) Status() int {
	if errors.Is(e.Err, fs.ErrNotExist) {
		return 127
	}
	return 126
}

// FindCommand returns the file that execvp(3) would run for a name: the first in the
// directories of path that may be executed. The error is a *StartError.
func FindCommand(name, path string) (string, error) {
	if strings.ContainsRune(name, '/') {
		if err := executable(name); err != nil {
			return "", &StartError{name, err}
		}
		return name, nil
	}
	found := error(syscall.ENOENT)
	if name == "" {
		return "", &StartError{`""`, found}
	}
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "."
		}
		file := dir + "/" + name
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			found = syscall.EACCES // said only if there is no other
		}
	}
	return "", &StartError{name, found}
}

func executable(file string) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return syscall.EACCES // of a pipe too, which whoever opened it would wait for
	}
	_, err := exec.LookPath(file)
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}
