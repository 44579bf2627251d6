// Package elfid identifies shared libraries by what is in them: the build id
// that the linker left, or a digest of the content. Neither depends on where a
// library lies, when it was installed, or what its package calls itself.
package elfid

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Library is what a shared library says of itself.
type Library struct {
	// ID is "build-id:" and the ELF build id in hexadecimal, or "sha256:" and
	// the digest of the content where there is no build id.
	ID string

	// Soname is its name among libraries; the base name of the file where it
	// has none.
	Soname string

	// Needed are the sonames of the libraries that it is linked with.
	Needed []string
}

// Inspect returns what the library at path says of itself, links followed. The
// answer is kept for the life of the process under path, device, inode, size
// and change time, so that asking again costs one stat. The caller must not
// change it. Safe for concurrent use.
func Inspect(path string) (*Library, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("inspect library: %w", err)
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("inspect library %s: not a regular file", path)
	}
	k := stampOf(path, st)
	if l, ok := known.Load(k); ok {
		return l.(*Library), nil
	}
	f, err := openLibrary(path)
	if err != nil {
		return nil, fmt.Errorf("inspect library: %w", err)
	}
	defer f.Close()
	l, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("inspect library %s: %w", path, err)
	}
	if l.Soname == "" {
		l.Soname = filepath.Base(path)
	}
	known.Store(k, l)
	return l, nil
}

// known holds stamp → *Library.
var known sync.Map

// read takes what a file that is no ELF file, or a damaged one, still has: its
// content.
func read(r io.ReaderAt) (*Library, error) {
	l, id := &Library{}, []byte(nil)
	if f, err := parse(r); err == nil {
		id = f.buildID()
		l.Soname, l.Needed = f.dynamic()
	}
	if id != nil {
		l.ID = "build-id:" + hex.EncodeToString(id)
		return l, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(r, 0, 1<<62)); err != nil {
		return nil, err
	}
	l.ID = "sha256:" + hex.EncodeToString(h.Sum(nil))
	return l, nil
}
