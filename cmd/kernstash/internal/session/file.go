package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
func (f OwnFile) write(before, text string, mode os.FileMode) (err error) {
	made, _, err := f.Read()
	if err != nil {
		return err
	}
	fresh, err := makeDirs(filepath.Dir(string(f)))
	defer func() {
		if err != nil {
			f.removeDirs(fresh)
		}
	}()
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(before + Mark + "\n")
	for _, d := range append(made, fresh...) {
		b.WriteString(madeMark + d + "\n")
	}
	b.WriteString(text)
	return f.replace([]byte(b.String()), mode)
}

// replace writes the file as a whole, in a directory that is there.
func (f OwnFile) replace(b []byte, mode os.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(string(f)), ".kernstash-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // gone, if all went well
	_, err = tmp.Write(b)
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
	f.removeDirs(made)
	return true, nil
}

// removeDirs removes directories that were made for the file, as far as they are empty.
func (f OwnFile) removeDirs(made []string) {
	for _, dir := range slices.Backward(made) {
		// Only above the file, whatever the text says; it is empty, or it stays.
		if strings.HasPrefix(string(f), dir+string(filepath.Separator)) {
			_ = os.Remove(dir)
		}
	}
}

// saved returns what makes the file as it is now, once that was changed: there, or not there.
func (f OwnFile) saved() (restore func() error, err error) {
	_, found, err := f.Read()
	if err != nil {
		return nil, err
	}
	if !found {
		return func() error {
			_, err := f.remove()
			return err
		}, nil
	}
	b, err := os.ReadFile(string(f))
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(string(f))
	if err != nil {
		return nil, err
	}
	return func() error {
		if err := os.MkdirAll(filepath.Dir(string(f)), 0o755); err != nil {
			return err
		}
		return f.replace(b, info.Mode().Perm())
	}, nil
}
