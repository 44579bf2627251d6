// Package elfid identifies shared libraries by what is in them: the build id that the
// linker left, and a digest of the content, since a library may be changed under its build
// id. Neither depends on where a library lies, when it was installed, or what its package
// calls itself.
package elfid

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/kernstash/kernstash/internal/contents"
)

// Library is what a shared library says of itself.
type Library struct {
	// ID is what the library is called in keys: "build-id:" with the ELF build id in
	// hexadecimal, where it has one, and "content:" with the digest of the content.
	ID string

	// Soname is its name among libraries; the base name of the file where it
	// has none.
	Soname string

	// Needed are the sonames of the libraries that it is linked with.
	Needed []string
}

// Inspect returns what the library at path says of itself, links followed. A content that the
// process has read is not read again, unless the file was changed in the last seconds, when
// another change may not show in its times.
func Inspect(path string) (*Library, error) {
	stamp, err := contents.Look(path)
	if err != nil {
		return nil, fmt.Errorf("inspect library: %w", err)
	}
	content, err := contents.Stamped(path, stamp)
	if err != nil {
		return nil, fmt.Errorf("inspect library %s: %w", path, err)
	}
	l, id, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("inspect library: %w", err)
	}
	if after, err := contents.Look(path); err != nil || after != stamp {
		return nil, fmt.Errorf("inspect library %s: %w", path, errReplaced)
	}
	l.Soname, l.ID = cmp.Or(l.Soname, filepath.Base(path)), "content:"+content
	if id != "" {
		l.ID = "build-id:" + id + " " + l.ID
	}
	return l, nil
}

// errReplaced is wrapped for files that others replace while they are looked at.
var errReplaced = errors.New("it is being replaced")
