package drivers

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a file of settings that a driver obeys while it compiles. It is for those who
// work on the driver: where it is there nobody knows what the driver makes of a program.
type File struct {
	Path       string // one that is not absolute is in the working directory
	SwitchedOn bool   // it is obeyed where the rules' switch is on
}

// IncludedFrom returns the path of a header in one of the directories that the driver would
// read unasked; "" where there is none.
func (r Rules) IncludedFrom(dirs []string) string {
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

// Obeyed returns what the rules know of that the driver reads while it compiles, a file's
// path or a variable that has it read some; "" where there is no such thing. The
// environment is as os.Environ has it.
func (r Rules) Obeyed(environ []string) string {
	for _, f := range r.Files {
		if f.SwitchedOn && !isOn(environ, r.SwitchOn) {
			continue
		}
		if _, err := os.Lstat(f.Path); err == nil {
			return f.Path
		}
	}
	for _, name := range r.Reads {
		if isOn(environ, name) {
			return name
		}
	}
	return ""
}
