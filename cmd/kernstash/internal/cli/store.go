package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store/disk"
)

// OpenDisk returns the disk tier that the settings name, and the settings. The
// caller closes it. A directory that the command line names has to be there.
func (a *App) OpenDisk() (*disk.Store, *settings.Settings, error) {
	s, err := a.Settings()
	if err != nil {
		return nil, nil, err
	}
	if s.Dir == "" {
		return nil, nil, ErrNoDirectory
	}
	if s.Origin("dir").Source == settings.Flag {
		if _, err := os.Lstat(s.Dir); errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("there is no cache: %s does not exist", s.Dir)
		}
	}
	return disk.New(DiskOptions(s)), s, nil
}

// ErrNoDirectory is returned where nothing says where the cache is.
var ErrNoDirectory = errors.New("there is no cache directory: set KERNSTASH_DIR or HOME, or give --dir")

// DiskOptions returns the options of the disk tier that settings ask for.
func DiskOptions(s *settings.Settings) disk.Options {
	o := disk.Options{Dir: s.Dir, MaxSize: s.MaxSize, Policy: disk.Cost, KeepAccess: true}
	if s.Eviction == settings.EvictLRU {
		o.Policy = disk.LRU
	}
	return o
}

// CloseDisk closes a store and keeps the first error.
func CloseDisk(d *disk.Store, err *error) {
	if closeErr := d.Close(); *err == nil && closeErr != nil {
		*err = fmt.Errorf("close the cache: %w", closeErr)
	}
}
