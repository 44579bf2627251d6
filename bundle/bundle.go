// Package bundle ships a cache: what was compiled on one machine goes as one file to others,
// which import it, or mount it as a read-only layer.
//
// A bundle is a root of the disk store (docs/FORMAT.md) with two more files: bundle.json, the
// manifest, says what is in it, and bundle.sig signs that. As a file it is a tar archive,
// compressed by zstd, which begins with the two. It names no directory, user or host of the machine
// that it was made on; what was compiled may (see [Leaks]).
package bundle

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/key"
)

// Version is that of the form of bundles which this package reads and writes.
const Version = 1

// The files that a bundle has beside those of a root.
const (
	ManifestName  = "bundle.json"
	SignatureName = "bundle.sig"
)

// ErrInvalid is wrapped by the errors for what is no bundle, or a damaged one.
var ErrInvalid = errors.New("not a good bundle")

// ErrEmpty is wrapped by the error of Create where no entry is wanted.
var ErrEmpty = errors.New("there is no entry for it")

// Manifest says what is in a bundle.
type Manifest struct {
	Version int          `json:"bundle"`
	By      string       `json:"by"`      // the version of kernstash that made it
	Created time.Time    `json:"created"` // when the newest entry was built
	Devices []key.Device `json:"devices"`
	Entries []Entry      `json:"entries"` // sorted by path
	Files   []File       `json:"files"`   // all but the two of the bundle itself, sorted by path
}

// Entry is what was compiled for one device.
type Entry struct {
	Key     string   `json:"key"`
	Device  int      `json:"device"` // index in Devices
	Path    string   `json:"path"`   // of its artifact
	Size    int64    `json:"size"`   // of its files, bytes
	Cost    int64    `json:"cost_ns"`
	Kernels []string `json:"kernels,omitempty"`
}

// File is a file of a bundle.
type File struct {
	Path   string `json:"path"` // below the bundle's root, with slashes
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // lower-case hexadecimal
}

// Size returns the bytes of all files.
func (m *Manifest) Size() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// What one manifest may say. A cache of a million entries has some 600 MB of manifest, of which a
// bundle would be no use.
const (
	maxManifest  = 256 << 20
	maxSignature = 1 << 20
	maxFile      = 4 << 30 // FORMAT.md: a file of a root
)

// parse reads a manifest, and checks all that others rely on.
func parse(b []byte) (*Manifest, error) {
	var version struct {
		Version int `json:"bundle"`
	}
	m := new(Manifest)
	err := json.Unmarshal(b, &version)
	if err == nil && version.Version != Version {
		return nil, fmt.Errorf("%w: its version is %d, this kernstash knows %d", ErrInvalid, version.Version, Version)
	}
	if err == nil {
		err = json.Unmarshal(b, m)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, ManifestName, err)
	}
	for i, f := range m.Files {
		switch sum, err := hex.DecodeString(f.SHA256); {
		case err != nil || len(sum) != sha256.Size, f.Size < 0 || f.Size > maxFile,
			!filepath.IsLocal(f.Path), f.Path != path.Clean(f.Path), strings.ContainsAny(f.Path, "\\:\x00"),
			f.Path == ManifestName, f.Path == SignatureName:
			return nil, fmt.Errorf("%w: %s says %+q of a file", ErrInvalid, ManifestName, f.Path)
		case i > 0 && f.Path <= m.Files[i-1].Path:
			return nil, fmt.Errorf("%w: %s names %q after %q", ErrInvalid, ManifestName, f.Path, m.Files[i-1].Path)
		}
	}
	for _, e := range m.Entries {
		_, found := slices.BinarySearchFunc(m.Files, e.Path, func(f File, path string) int { return cmp.Compare(f.Path, path) })
		if e.Device < 0 || e.Device >= len(m.Devices) || !found {
			return nil, fmt.Errorf("%w: %s says %q of an entry", ErrInvalid, ManifestName, e.Path)
		}
	}
	return m, nil
}
