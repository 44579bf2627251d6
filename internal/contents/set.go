package contents

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Set is files that are looked at again and again. The zero value is empty. It is not safe
// for concurrent use while it is added to.
type Set struct {
	places []place // files, and directories
	lines  []string
}

// maxFiles bounds a directory whose files are all read.
const maxFiles = 1024

var errTooMuch = errors.New("more files than expected")

// Add adds a file, or all files below a directory, links followed, whose digest names them by
// name and their paths below it. A path that leads nowhere is fs.ErrNotExist.
func (s *Set) Add(name, path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	stamp := stampOf(st)
	s.places = append(s.places, place{path, stamp})
	switch {
	case len(s.places) > maxFiles:
		return fmt.Errorf("%s: %w", path, errTooMuch)
	case st.Mode().IsRegular():
		d, err := Stamped(path, stamp)
		s.lines = append(s.lines, name+" "+d)
		return err
	case !st.IsDir():
		return fmt.Errorf("%s: %w", path, errRegular)
	}
	below, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range below {
		err := s.Add(name+"/"+e.Name(), filepath.Join(path, e.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // else it is a link to nothing
			return err
		}
	}
	return nil
}

// Join adds what another set holds.
func (s *Set) Join(o *Set) {
	s.places = append(s.places, o.places...)
	s.lines = append(s.lines, o.lines...)
}

// Stamps returns the stamps of what is at paths, whatever it is: the zero Stamp where nothing is.
func Stamps(paths []string) []Stamp {
	all := make([]Stamp, len(paths))
	for i, path := range paths {
		if st, err := os.Stat(path); err == nil {
			all[i] = stampOf(st)
		}
	}
	return all
}

// Empty reports whether there are no files.
func (s *Set) Empty() bool { return len(s.lines) == 0 }

// Digest returns a digest of the names and contents, 32 hexadecimal digits.
func (s *Set) Digest() string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(s.lines)), "\n")))
	return hex.EncodeToString(sum[:16])
}

// Changed returns the path of a file or a directory that is not as it was when it was added;
// "" if there is none. It costs a stat each.
func (s *Set) Changed() string {
	for _, p := range s.places {
		if st, err := os.Stat(p.path); err != nil || stampOf(st) != p.Stamp {
			return p.path
		}
	}
	return ""
}
