package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

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

// OnDisk returns what a command does that works on the disk tier which the settings name.
func (a *App) OnDisk(do func(context.Context, *disk.Store, *settings.Settings) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		d, s, err := a.OpenDisk()
		if err != nil {
			return err
		}
		err = do(cmd.Context(), d, s)
		if closeErr := d.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("close the cache: %w", closeErr)
		}
		return err
	}
}
