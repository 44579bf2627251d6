// Package elfid identifies shared libraries by what is in them: the build id that the
// linker left, and a digest of the content, since a library may be changed under its build
// id. Neither depends on where a library lies, when it was installed, or what its package
// calls itself.
package elfid

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/kernstash/kernstash/internal/contents"
)

// Library is what a shared library says of itself.
type Library struct {
	// ID is the ELF build id in hexadecimal and the digest of the content, as [Name] has
	// them.
	ID string

	// Soname is its name among libraries; the base name of the file where it
	// has none.
	Soname string

	// Needed are the sonames of the libraries that it is linked with.
	Needed []string
}

// Name returns what a library of a build id, which may be empty, and a content is called in
// keys: "build-id:" and "content:", each with its value.
func Name(buildID, content string) string {
	if buildID == "" {
		return "content:" + content
	}
	return "build-id:" + buildID + " content:" + content
}

// Inspect returns what the library at path says of itself, links followed. The answer is
// kept for the life of the process under path, device, inode, size and times, so that
// asking again costs one stat, unless the file was changed in the last seconds: it is read
// again then, since another change may not show in its times. The caller must not change
// the answer. Safe for concurrent use.
func Inspect(path string) (*Library, error) {
	stamp, err := contents.Look(path)
	if err != nil {
		return nil, fmt.Errorf("inspect library: %w", err)
	}
	content, err := contents.Stamped(path, stamp)
	if err != nil {
		return nil, fmt.Errorf("inspect library %s: %w", path, err)
	}
	k := state{path, stamp, content}
	if l, ok := known.Load(k); ok {
		return l.(*Library), nil
	}
	f, err := openLibrary(path)
	if err != nil {
		return nil, fmt.Errorf("inspect library: %w", err)
	}
	defer f.Close()
	l, id := read(f)
	if after, err := contents.Look(path); err != nil || after != stamp {
		return nil, fmt.Errorf("inspect library %s: %w", path, errReplaced)
	}
	if l.ID = Name(id, content); l.Soname == "" {
		l.Soname = filepath.Base(path)
	}
	known.Store(k, l)
	return l, nil
}

// errReplaced is wrapped for files that others replace while they are looked at.
var errReplaced = errors.New("it is being replaced")

// state is a file as it was.
type state struct {
	path string
	contents.Stamp
	content string
}

// known holds state → *Library.
var known sync.Map

// sonameOf returns the name of the library at path among libraries; "" where it has none,
// or cannot be read. It does not read the content.
func sonameOf(path string) string {
	r, err := openLibrary(path)
	if err != nil {
		return ""
	}
	defer r.Close()
	f, err := parse(r)
	if err != nil {
		return ""
	}
	soname, _ := f.dynamic()
	return soname
}

// read returns what an ELF file says, and its build id: nothing of what is no such file, or
// a damaged one.
func read(r io.ReaderAt) (*Library, string) {
	l := &Library{}
	f, err := parse(r)
	if err != nil {
		return l, ""
	}
	l.Soname, l.Needed = f.dynamic()
	return l, hex.EncodeToString(f.buildID())
}
