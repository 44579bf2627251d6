package drivers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// IncludedFrom returns the path of a header in one of the directories that the driver would
// read unasked; "" where there is none.
func (r *Rules) IncludedFrom(dirs []string) string {
	for _, dir := range dirs {
		for _, name := range r.Included {
			path := filepath.Join(dir, name)
			if _, err := os.Lstat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
				return path
			}
		}
	}
	return ""
}

// Obeyed returns an error that names what the rules know of that the driver reads while it
// compiles, or has read when it was loaded: a file, or a variable that has it read some. Such
// files are for those who work on the driver: where one is there nobody knows what the driver
// makes of a program. A path that is not absolute is in the working directory. The environment
// is as os.Environ has it.
func (r *Rules) Obeyed(environ []string) error {
	for _, path := range r.Files {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%w: %s", ErrSettings, path)
		}
	}
	for _, name := range r.Reads {
		if isOn(environ, name) {
			return fmt.Errorf("%w: %s is set", ErrSettings, name)
		}
	}
	if r.AtLoad == nil {
		return nil
	}
	return r.AtLoad.obeyed(isOn(environ, r.SwitchOn))
}

// ErrSettings is wrapped where a compiler obeys, or may obey, a file of settings.
var ErrSettings = errors.New("the compiler obeys a file of settings")
