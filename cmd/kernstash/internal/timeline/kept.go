package timeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kernstash/kernstash/store/disk"
)

// LastOf returns the file in which the last run with a cache is kept.
func LastOf(d *disk.Store) string {
	return filepath.Join(filepath.Dir(d.RecordsIndex()), "last-run.json")
}

// ReadLast reads the last run with a cache. An error wraps fs.ErrNotExist where none is kept.
func ReadLast(d *disk.Store) (*Run, error) {
	run, err := ReadFile(LastOf(d))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s keeps no run: have a command use it by 'kernstash run' (%w)", d.Status().Dir, fs.ErrNotExist)
	}
	return run, err
}

// Keep writes a run for ReadFile into a file that a cache has a place for, whatever was there. Whoever reads it meanwhile has
// one or the other.
func (r *Run) Keep(path string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keep run: %w", err)
	}
	f, err := os.CreateTemp(filepath.Join(filepath.Dir(path), "tmp"), "") // which a sweep empties
	if err != nil {
		return fmt.Errorf("keep run: %w", err)
	}
	defer os.Remove(f.Name()) // gone, if all goes well
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("keep run: %w", err)
	}
	return nil
}
