package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// OwnFile is a file that 'kernstash enable' writes, with its mark and the directories made for it.
type OwnFile string

const (
	Mark     = "# Written by 'kernstash enable'; 'kernstash disable' removes it."
	madeMark = "# made: "
)

// ErrForeign is returned for a file that 'kernstash enable' did not write.
var ErrForeign = errors.New("is not of 'kernstash enable', and stays as it is")

// Read returns the directories that were made for the file. found is false where
// there is none; a file of somebody else's is an ErrForeign.
func (f OwnFile) Read() (made []string, found bool, err error) {
	info, err := os.Lstat(string(f))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case !info.Mode().IsRegular():
		return nil, true, fmt.Errorf("%s %w", f, ErrForeign)
	}
	b, err := os.ReadFile(string(f))
	if err != nil {
		return nil, true, err
	}
	marked := false
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		marked = marked || line == Mark
		if dir, ok := strings.CutPrefix(line, madeMark); ok {
			made = append(made, dir)
		}
	}
	if !marked {
		return nil, true, fmt.Errorf("%s %w", f, ErrForeign)
	}
	return made, true, nil
}

// write writes the file as a whole, with its mark behind what stands before.
func (f OwnFile) write(before, text string, mode os.FileMode) error {
	made, _, err := f.Read()
	if err != nil {
		return err
	}
	dir := filepath.Dir(string(f))
	fresh, err := makeDirs(dir)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(before + Mark + "\n")
	for _, d := range append(made, fresh...) {
		b.WriteString(madeMark + d + "\n")
	}
	b.WriteString(text)
	tmp, err := os.CreateTemp(dir, ".kernstash-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // gone, if all went well
	_, err = tmp.WriteString(b.String())
	err = errors.Join(err, tmp.Chmod(mode), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), string(f))
	}
	return err
}

// makeDirs makes a directory, and returns those that were not there, the outermost first.
func makeDirs(dir string) (made []string, err error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			break
		}
		made = append([]string{at}, made...)
	}
	return made, os.MkdirAll(dir, 0o755)
}

// remove removes the file, with directories made for it that are empty then. False: there is none.
func (f OwnFile) remove() (bool, error) {
	made, found, err := f.Read()
	if err != nil || !found {
		return false, err
	}
	if err := os.Remove(string(f)); err != nil {
		return false, err
	}
	for i := len(made) - 1; i >= 0; i-- {
		// Only above the file, whatever the text says; it is empty, or it stays.
		if strings.HasPrefix(string(f), made[i]+string(filepath.Separator)) {
			_ = os.Remove(made[i])
		}
	}
	return true, nil
}
