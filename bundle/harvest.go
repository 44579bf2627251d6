package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/pattern"
)

// Harvest is a cache of another tool, a directory, as it travels in a bundle.
type Harvest struct {
	Name      string     `json:"name"` // its files are below harvest/NAME
	Tool      string     `json:"tool,omitempty"`
	Variables []Variable `json:"variables,omitempty"` // have a program use it
	Files     int        `json:"files"`
	Bytes     int64      `json:"bytes"`
	Pickles   bool       `json:"pickles"` // it holds some of Python's, which run code when they are read

	From  string `json:"-"` // where Create takes it from
	Below string `json:"-"` // where it is put below harvest/NAME, with slashes; "": right there
}

// Variable is one of a program's environment.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"` // "": the directory of the cache
}

const harvested = "harvest/" // where those caches are in a bundle

var (
	cacheName    = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	variableName = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Check returns an error where a cache cannot be in a bundle under its name, or with its variables.
func (h *Harvest) Check() error {
	if !cacheName().MatchString(h.Name) {
		return fmt.Errorf("%+q is no name of a cache: want letters, digits, and -_. behind the first", h.Name)
	}
	for _, v := range h.Variables {
		if !variableName().MatchString(v.Name) || strings.ContainsAny(v.Value, "\x00\n") {
			return fmt.Errorf("%+q is no variable", v.Name)
		}
	}
	return nil
}

func (m *Manifest) addHarvest(h Harvest) error {
	if n := len(m.Harvests); n > 0 && h.Name <= m.Harvests[n-1].Name {
		return fmt.Errorf("the cache %+q stands behind %+q", h.Name, m.Harvests[n-1].Name)
	}
	m.Harvests = append(m.Harvests, h)
	return h.Check()
}

// Environ returns what has programs use the cache, of a bundle that was restored into a directory.
func (h *Harvest) Environ(dir string) []Variable {
	all := slices.Clone(h.Variables)
	for i := range all {
		if all[i].Value == "" {
			all[i].Value = filepath.Join(dir, filepath.FromSlash(harvested), h.Name)
		}
	}
	return all
}

// ID names what is in the bundle: those of other bytes have others.
func (b *Reader) ID() string {
	sum := sha256.Sum256(b.manifest)
	return hex.EncodeToString(sum[:8])
}

// Restore writes the bundle as a directory that nobody but the user may enter, for programs that go on
// writing to its caches. What was restored there before, of the same bundle, is taken as it is: existing
// says so. Caches of other tools hold programs and pickles that run where they are
// read, so without a trusted signature there are none of them: the error wraps [ErrUntrusted].
func (b *Reader) Restore(ctx context.Context, dir string) (existing bool, err error) {
	if len(b.Harvests) > 0 && !b.trusted {
		return false, fmt.Errorf("restore bundle: %w, and the cache of %s holds what runs when it is read", ErrUntrusted, b.Harvests[0].Name)
	}
	if existing, err := b.restored(dir); existing || err != nil {
		return existing, err
	}
	err = b.extract(ctx, dir, private, relocate)
	if errors.Is(err, fs.ErrExist) { // by another process, meanwhile
		if existing, err := b.restored(dir); existing || err != nil {
			return existing, err
		}
	}
	return false, err
}

// restored reports whether a directory holds this bundle. It fails where something else is there.
func (b *Reader) restored(dir string) (bool, error) {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("restore bundle: %w", err)
	}
	if uid, known := owner(info); !info.IsDir() || known && (uid != os.Geteuid() || info.Mode().Perm()&0o077 != 0) {
		return false, fmt.Errorf("restore bundle: %s is there, and not a directory of the user's alone: %w", dir, fs.ErrExist)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, fmt.Errorf("restore bundle: %w", err)
	}
	defer root.Close()
	if manifest, err := readFile(root, ManifestName, maxManifest); err != nil || string(manifest) != string(b.manifest) {
		return false, fmt.Errorf("restore bundle: %s is there, and not of this bundle: %w", dir, fs.ErrExist)
	}
	return true, nil
}

// group is how the names of files begin in which Triton keeps where the other files of a kernel are.
const group = "__grp__"

// relocate has the groups of Triton's caches name the files that are beside them now. Triton would look for
// them where they were made.
func relocate(root *os.Root, at string, f File) error {
	dir, name := path.Split(f.Path)
	if !strings.HasPrefix(f.Path, harvested) || !strings.HasPrefix(name, group) || f.Size > 1<<20 {
		return nil
	}
	b, err := root.ReadFile(filepath.FromSlash(f.Path))
	if err != nil {
		return err
	}
	var of map[string]map[string]string
	if json.Unmarshal(b, &of) != nil || len(of) != 1 || of["child_paths"] == nil {
		return nil // it is no group
	}
	for child := range of["child_paths"] {
		if !filepath.IsLocal(child) {
			return nil
		}
		of["child_paths"][child] = filepath.Join(at, filepath.FromSlash(dir), child)
	}
	if b, err = json.Marshal(of); err != nil {
		return err
	}
	return root.WriteFile(filepath.FromSlash(f.Path), b, 0o600)
}
