// Package volume finds out what holds a directory.
package volume

import (
	"fmt"
	"os"
	"path/filepath"
)

// Volume is what holds a directory.
type Volume struct {
	Kind    string // "" where it cannot be told
	Network bool   // shared between machines
	Memory  bool   // gone after a restart
	Free    int64  // bytes that we may use
}

// Of returns what holds a directory, or would.
func Of(dir string) (Volume, error) { return of(Existing(dir)) }

// Existing returns dir, or the nearest directory above it that is there.
func Existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// Trouble says why nothing can be stored in a directory, or would; "" where it can.
func Trouble(dir string) string {
	const least = 256 << 10 // less than an entry of some size needs
	if v, err := Of(dir); err == nil && v.Kind != "" && v.Free < least {
		return "there is no room left for " + dir
	}
	if err := writable(Existing(dir)); err != nil {
		return fmt.Sprintf("nothing can be stored in %s: %v", dir, err)
	}
	return ""
}
