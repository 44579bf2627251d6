package bundle

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// Options say how a bundle is made.
type Options struct {
	By string // the version of kernstash

	// Select reports whether an entry goes into the bundle; nil takes all.
	Select func(store.Info) bool

	// WithoutSource leaves out what the entries were built from. They hit all the same; nobody can
	// build them again, or see why another one missed.
	WithoutSource bool

	Harvest []Harvest // caches of other tools that go into it, each with a From

	Sign ed25519.PrivateKey // nil: it is not signed

	// Progress, unless nil, is told how many entries were taken so far.
	Progress func(entries int)
}

// Skipped is an entry that was not taken, and why.
type Skipped struct {
	Location string
	Err      error
}

// Create writes a bundle of what is in caches to w. Of entries of one key the first cache's counts.
// The caches are read only. What is damaged, or has no recipe, is left out: skipped says what. The
// same entries make the same bytes. Temporary files are in the system's directory for them, and are
// as large as the entries.
func Create(ctx context.Context, from []*disk.Store, o Options, w io.Writer) (m *Manifest, skipped []Skipped, err error) {
	dir, err := os.MkdirTemp("", "kernstash-bundle-")
	if err != nil {
		return nil, nil, fmt.Errorf("create bundle: %w", err)
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(dir)) }()
	c := creator{Options: o, dir: filepath.Join(dir, "root"), m: &Manifest{Version: Version, By: o.By}, devices: make(map[key.Digest]int)}
	to := disk.New(disk.Options{Dir: c.dir})
	for _, d := range from {
		if err == nil {
			err = c.take(ctx, d, to)
		}
	}
	if closeErr := to.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = c.harvest(ctx)
	}
	if err == nil && c.taken == 0 && len(c.m.Harvests) == 0 {
		err = ErrEmpty
	}
	if err == nil {
		err = c.list(ctx)
	}
	if err == nil {
		err = c.write(w)
	}
	if err != nil {
		return nil, c.skipped, fmt.Errorf("create bundle: %w", err)
	}
	return c.m, c.skipped, nil
}

// creator makes one bundle.
type creator struct {
	Options
	dir     string // the root that becomes the bundle
	m       *Manifest
	devices map[key.Digest]int // their indices in the manifest
	taken   int
	skipped []Skipped
}

// take puts the entries of a cache that are wanted into the root that becomes the bundle.
func (c *creator) take(ctx context.Context, from, to *disk.Store) error {
	for info, err := range from.List(ctx) {
		if err != nil {
			return err
		}
		if c.Select != nil && !c.Select(info) {
			continue
		}
		e, err := read(ctx, from, info)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			c.skipped = append(c.skipped, Skipped{info.Location, err})
			continue
		}
		if _, err := to.Put(ctx, e); err != nil {
			return err
		}
		c.taken++
		if c.Progress != nil {
			c.Progress(c.taken)
		}
	}
	return nil
}

// read returns an entry that may go into another store, with the headers that it has.
func read(ctx context.Context, from *disk.Store, info store.Info) (*store.Entry, error) {
	if info.Bad != nil {
		return nil, info.Bad
	}
	e, err := from.Get(ctx, info.Key)
	if err != nil {
		return nil, err
	}
	recipe, err := from.Recipe(ctx, info.Key)
	if err != nil {
		return nil, err
	}
	if e.Recipe, err = recipe.WithoutPlaces(); err != nil {
		return nil, err
	}
	e.Headers = make(map[key.Digest][]byte)
	for _, u := range recipe.Image.Units() {
		for _, f := range u.Files {
			if b, err := from.GetBlob(ctx, store.Headers, f.Digest); err == nil {
				e.Headers[f.Digest] = b
			}
		}
	}
	return e, nil
}

// list fills the manifest from the root that was made.
func (c *creator) list(ctx context.Context) error {
	if c.taken == 0 {
		return filepath.WalkDir(c.dir, c.add)
	}
	d := disk.New(disk.Options{Dir: c.dir, ReadOnly: true, KeepAccess: true})
	defer d.Close()
	for info, err := range d.List(ctx) {
		if err = cmp.Or(err, info.Bad); err != nil {
			return err
		}
		digest := info.Device.Digest()
		at, known := c.devices[digest]
		if !known {
			at = len(c.m.Devices)
			c.devices[digest] = at
			c.m.Devices = append(c.m.Devices, info.Device)
		}
		c.m.Entries = append(c.m.Entries, Entry{
			Key: info.Key.String(), Device: at, Path: filepath.ToSlash(info.Location), Size: info.Size, Cost: int64(info.Cost), Kernels: info.Kernels,
		})
		if c.m.Created.Before(info.Created) {
			c.m.Created = info.Created.UTC()
		}
	}
	slices.SortFunc(c.m.Entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return filepath.WalkDir(c.dir, c.add)
}

// add adds a file of the root to the manifest. Of .meta headers alone travel.
func (c *creator) add(name string, d fs.DirEntry, err error) error {
	if err != nil || name == c.dir {
		return err
	}
	rel, err := filepath.Rel(c.dir, name)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	switch meta, of := strings.CutPrefix(rel, ".meta/"); {
	case of && meta != "headers" && !strings.HasPrefix(meta, "headers/"), rel == "CACHEDIR.TAG",
		c.WithoutSource && !strings.HasPrefix(rel, harvested) && (rel == ".meta" || strings.HasSuffix(rel, ".src")):
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case d.IsDir():
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	c.m.Files = append(c.m.Files, File{rel, size, hex.EncodeToString(sum.Sum(nil))})
	return err
}

// write writes the archive.
func (c *creator) write(w io.Writer) error {
	slices.SortFunc(c.m.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	manifest, err := json.MarshalIndent(c.m, "", " ")
	if err != nil {
		return err
	}
	var sig []byte
	if c.Sign != nil {
		if sig, err = sign(c.Sign, manifest); err != nil {
			return err
		}
	}
	z, err := compressor(w)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	err = cmp.Or(addFile(t, ManifestName, int64(len(manifest)), c.m.Created, strings.NewReader(string(manifest))),
		addFile(t, SignatureName, int64(len(sig)), c.m.Created, strings.NewReader(string(sig))))
	for _, f := range c.m.Files {
		if err != nil {
			return err
		}
		err = c.copyFile(t, f)
	}
	return cmp.Or(err, t.Close(), z.Close())
}

// compressor returns what writes every bundle: the same bytes are compressed to the same.
func compressor(w io.Writer) (*zstd.Encoder, error) {
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
}

func (c *creator) copyFile(t *tar.Writer, of File) error {
	f, err := os.Open(filepath.Join(c.dir, filepath.FromSlash(of.Path)))
	if err != nil {
		return err
	}
	defer f.Close()
	return addFile(t, of.Path, of.Size, c.m.Created, f)
}

// addFile adds a file that everybody may read, and belongs to root where it is unpacked by root.
func addFile(t *tar.Writer, name string, size int64, at time.Time, content io.Reader) error {
	if err := t.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: size, ModTime: at.Truncate(time.Second), Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := io.CopyN(t, content, size)
	return err
}
