package configfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/kernstash/kernstash/internal/lock"
	"github.com/kernstash/kernstash/internal/safefs"
)

// maxWait is how long a change waits for the changes of others, each of which takes milliseconds.
const maxWait = 10 * time.Second

// exclude keeps other processes from changing a settings file until unlock is called. It makes the file's directory. The lock is that
// of a file beside the settings file, which is removed while it is locked: who had opened it before sees that and opens the next one.
// Where files cannot be locked nobody is kept out.
func exclude(path string) (unlock func(), err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	beside, _, err := safefs.OpenRoot(dir, safefs.Options{})
	if errors.Is(err, safefs.ErrUnsupported) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	name := "." + filepath.Base(path) + ".lock"
	pool := lock.New(func() (safefs.File, error) { return openOrCreate(beside, name) })
	end := func() {
		pool.Close()
		beside.Close()
	}
	release, err := pool.Lock(context.Background(), 0, maxWait)
	switch {
	case errors.Is(err, lock.ErrUnsupported):
		return end, nil
	case errors.Is(err, lock.ErrBusy):
		end()
		return nil, errors.New("another process is changing it, and does not end")
	case err != nil:
		end()
		return nil, fmt.Errorf("%s: %v", filepath.Join(dir, name), err) // of the lock, not of the settings file
	}
	return func() {
		_ = os.Remove(filepath.Join(dir, name))
		release()
		end()
	}, nil
}

// openOrCreate opens a file that others may make, and remove, meanwhile.
func openOrCreate(dir safefs.Dir, name string) (safefs.File, error) {
	for {
		f, err := dir.Create(name)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
		f, _, err = dir.OpenWrite(name)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
}
