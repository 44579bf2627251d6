// Package bundle ships a cache: what was compiled on one machine goes as one file to others,
// which import it, or mount it as a read-only layer.
//
// A bundle is a root of the disk store (docs/FORMAT.md) with two more files: bundle.json, the
// manifest, says what is in it, and bundle.sig signs that. As a file it is a tar archive,
// compressed by zstd, which begins with the two. It names no directory, user or host of the machine
// that it was made on; what was compiled may (see [Leaks]).
package bundle

import (
	"bytes"
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
	Created time.Time    `json:"created"` // when the newest entry was built, or file of a harvested cache written
	Devices []key.Device `json:"devices"`
	Entries []Entry      `json:"entries"` // sorted by path
	Files   []File       `json:"files"`   // all but the two of the bundle itself, sorted by path

	Harvests []Harvest `json:"harvested,omitempty"` // sorted by name
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
	maxDevices   = 1 << 16
)

// parse reads a manifest, and checks all that others rely on. It stops at the first element that is
// wrong: in JSON an empty one takes three bytes, here a hundred.
func parse(b []byte) (*Manifest, error) {
	m := new(Manifest)
	own := struct {
		*Manifest
		Devices json.RawMessage `json:"devices"` // these hide the Manifest's
		Entries json.RawMessage `json:"entries"`
		Files   json.RawMessage `json:"files"`

		Harvests json.RawMessage `json:"harvested"`
	}{Manifest: m}
	if err := json.Unmarshal(b, &own); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, ManifestName, err)
	}
	if m.Version != Version {
		return nil, fmt.Errorf("%w: its version is %d, this kernstash knows %d", ErrInvalid, m.Version, Version)
	}
	err := elements(own.Files, m.addFile)
	if err == nil {
		err = elements(own.Devices, m.addDevice)
	}
	if err == nil {
		err = elements(own.Entries, m.addEntry)
	}
	if err == nil {
		err = elements(own.Harvests, m.addHarvest)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, ManifestName, err)
	}
	return m, nil
}

// elements calls add with each element of a list in JSON.
func elements[T any](list json.RawMessage, add func(T) error) error {
	if len(list) == 0 || string(list) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(list))
	if start, err := d.Token(); err != nil || start != json.Delim('[') {
		return errors.New("no list where one should be")
	}
	for d.More() {
		var one T
		if err := d.Decode(&one); err != nil {
			return err
		}
		if err := add(one); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manifest) addFile(f File) error {
	last := ""
	if len(m.Files) > 0 {
		last = m.Files[len(m.Files)-1].Path
	}
	meta, of := strings.CutPrefix(f.Path, ".meta")
	switch sum, err := hex.DecodeString(f.SHA256); {
	case err != nil || len(sum) != sha256.Size, f.Size < 0 || f.Size > maxFile,
		!filepath.IsLocal(f.Path), f.Path != path.Clean(f.Path), strings.ContainsAny(f.Path, "\\:\x00"),
		f.Path == ManifestName, f.Path == SignatureName, of && !strings.HasPrefix(meta, "/headers/"):
		return fmt.Errorf("%+q is no file of a bundle", f.Path)
	case f.Path <= last:
		return fmt.Errorf("%+q stands behind %+q", f.Path, last)
	}
	m.Files = append(m.Files, f)
	return nil
}

func (m *Manifest) addDevice(d key.Device) error {
	if len(m.Devices) == maxDevices {
		return fmt.Errorf("it has over %d devices", maxDevices)
	}
	m.Devices = append(m.Devices, d)
	return nil
}

func (m *Manifest) addEntry(e Entry) error {
	_, found := slices.BinarySearchFunc(m.Files, e.Path, func(f File, path string) int { return cmp.Compare(f.Path, path) })
	if n := len(m.Entries); e.Device < 0 || e.Device >= len(m.Devices) || !found || n > 0 && e.Path <= m.Entries[n-1].Path {
		return fmt.Errorf("%+q is no entry", e.Path)
	}
	m.Entries = append(m.Entries, e)
	return nil
}
