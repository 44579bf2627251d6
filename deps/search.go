package deps

import (
	"path/filepath"

	"github.com/kernstash/kernstash/deps/flags"
)

// Search says where a compiler looks for header files besides the directories
// that its options name. All directories are absolute.
type Search struct {
	Dir string // the working directory

	// Main is the directory in which the compiler believes the main source to
	// be, where its own #include "…" are looked for first. "" says that it is
	// not known; then a header that the working directory hides, or may hide,
	// makes a unit uncacheable.
	Main string

	// Unnamed says that the compiler gives the main source another name each time, so
	// that code that its name gets into is not cacheable.
	Unnamed bool

	First, Last []string // searched before and behind those of -I, as if by -I
	System      []string // searched behind all but those of -idirafter
}

// path returns the whole order of the search; quotes is how many directories of
// it are for #include "…" alone.
func (s Search) path(dirs []flags.Dir) (path []string, quotes int) {
	for p := flags.QuotedDirs; p <= flags.AfterDirs; p++ {
		if p == flags.AngledDirs {
			quotes = len(path)
			path = append(path, s.First...)
		}
		for _, d := range dirs {
			if d.Rank == p {
				path = append(path, absolute(s.Dir, d.Path))
			}
		}
		switch p {
		case flags.AngledDirs:
			path = append(path, s.Last...)
		case flags.SystemDirs:
			path = append(path, s.System...)
		}
	}
	return path, quotes
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return dir + "/" + path
}
