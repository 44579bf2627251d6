package cli

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

// FindCommand returns the file that execvp(3) would run for a name: the first in the
// directories of path that may be executed; skip, which may be nil, says which are not meant.
func FindCommand(name, path string, skip func(file string) bool) (string, error) {
	found := error(syscall.ENOENT)
	switch {
	case name == "":
		return "", fmt.Errorf(`"": %w`, found)
	case strings.ContainsRune(name, '/'):
		if found = executable(name); found == nil {
			return name, nil
		}
		path = ""
	}
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "."
		}
		file := dir + "/" + name
		err := executable(file)
		if err == nil && (skip == nil || !skip(file)) {
			return file, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			found = syscall.EACCES // said only if there is no other
		}
	}
	return "", fmt.Errorf("%s: %w", name, found)
}

func executable(file string) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return syscall.EACCES // of a pipe too, which whoever opened it would wait for
	}
	_, err := exec.LookPath(file)
	if errno, is := errors.AsType[syscall.Errno](err); is {
		return errno
	}
	return err
}
