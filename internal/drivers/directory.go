package drivers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
)

// Directory is what is known of the working directory that a driver was loaded in, from which
// it reads files of settings then. The process may have gone elsewhere since, and somebody else
// may have loaded the driver, so it is looked at whenever drivers may be loaded, and once when
// one is asked about. Its methods may be called by several goroutines.
type Directory struct {
	names []string // of the files

	mu    sync.Mutex
	first os.FileInfo // the directory when the driver was loaded, as far as we know
	there bool        // there was such a file in a directory that was looked at
	moved bool        // a directory that was looked at is not the first
	asked bool        // obeyed was called: the driver is there, and has read what it reads
}

// IntelSettings are the files that Intel's driver reads instead of the variables. libigdrcl and
// libze_intel_gpu 22.43 open the first when they are loaded, whether or not NEOReadDebugKeys is
// on; without it they take from the file only what their release builds know
// (OverrideDefaultFP64Settings). Releases since 2024 know the second name.
var IntelSettings = &Directory{names: []string{"igdrcl.config", "neo.config"}}

// A driver that the application loads by itself may be loaded before anybody calls us.
func init() { IntelSettings.look() }

// Loads tells that drivers may be loaded now.
func (d *Directory) Loads() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, err := os.Stat("."); d.first == nil && err == nil {
		d.first = at
	}
	d.look()
}

// Saw tells what others have seen before: whether one of the files was in a directory that the
// process worked in, and whether it has gone to another directory.
func (d *Directory) Saw(there, moved bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.there = d.there || there
	d.moved = d.moved || moved
}

// look looks at the directory that the process works in now; the caller holds the lock.
func (d *Directory) look() {
	for _, name := range d.names {
		_, err := os.Lstat(name)
		d.there = d.there || !errors.Is(err, fs.ErrNotExist)
	}
	at, err := os.Stat(".")
	d.moved = d.moved || err != nil || d.first != nil && !os.SameFile(at, d.first)
}

// obeyed returns an error where the driver may have read one of the files. Where on says that
// the driver reads keys for those who work on it, it may have read them anywhere.
func (d *Directory) obeyed(on bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.asked {
		d.asked = true
		d.look()
	}
	switch names := strings.Join(d.names, " or "); {
	case d.there:
		return fmt.Errorf("%w: %s", ErrSettings, names)
	case d.moved && on:
		return fmt.Errorf("%w, maybe: %s of another working directory", ErrSettings, names)
	}
	return nil
}
