package bundle

import (
	"archive/tar"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// Reader reads a bundle. Close it.
type Reader struct {
	*Manifest
	Signer ed25519.PublicKey // who has signed the manifest; nil: nobody

	z *zstd.Decoder // of a file
	t *tar.Reader

	dir string // of a directory

	manifest, signature []byte // as they are
}

// NewReader reads the manifest of a bundle that is a file, and checks its signature before anything else
// is made of it. Unless trusted is empty, one of these keys must have signed it, else
// the error wraps [ErrUntrusted].
func NewReader(r io.Reader, trusted []ed25519.PublicKey) (*Reader, error) {
	// The limit is on what the decoder may hold, whatever the stream asks for.
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return nil, fmt.Errorf("open bundle: %w", err)
	}
	b := &Reader{z: z}
	if err := b.start(z, trusted); err != nil {
		z.Close()
		return nil, fmt.Errorf("open bundle: %w", err)
	}
	return b, nil
}

// start reads what an archive begins with.
func (b *Reader) start(r io.Reader, trusted []ed25519.PublicKey) error {
	b.t = tar.NewReader(r)
	manifest, err := b.file(ManifestName, maxManifest)
	var sig []byte
	if err == nil {
		sig, err = b.file(SignatureName, maxSignature)
	}
	if err == nil {
		err = b.open(manifest, sig, trusted)
	}
	return err
}

// Repack reads a bundle whose archive is not compressed, or was by others, checks all of it, and writes it
// as a file to w. What was written is of no use where it fails.
func Repack(ctx context.Context, archive io.Reader, trusted []ed25519.PublicKey, w io.Writer) (*Reader, error) {
	z, err := compressor(w)
	if err != nil {
		return nil, fmt.Errorf("repack bundle: %w", err)
	}
	b, from := new(Reader), io.TeeReader(archive, z)
	if err := b.start(from, trusted); err != nil {
		return nil, fmt.Errorf("repack bundle: %w", err)
	}
	if err := b.Each(ctx, func(File, io.Reader) error { return nil }); err != nil {
		return nil, err
	}
	_, err = io.CopyN(io.Discard, from, maxSignature) // zeros end an archive
	if errors.Is(err, io.EOF) {
		err = z.Close()
	} else if err == nil {
		err = fmt.Errorf("%w: there is more behind it", ErrInvalid)
	}
	if err != nil {
		return nil, fmt.Errorf("repack bundle: %w", err)
	}
	return b, nil
}

// Archive returns the archive of a bundle that is a file, without its compression.
func Archive(r io.Reader) (io.ReadCloser, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}

// OpenDir reads the manifest of a bundle that was unpacked or mounted as a directory. It does not
// read the other files.
func OpenDir(dir string, trusted []ed25519.PublicKey) (*Reader, error) {
	b := &Reader{dir: dir}
	manifest, err := readFile(filepath.Join(dir, ManifestName), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: there is no %s", ErrInvalid, ManifestName)
	}
	var sig []byte
	if err == nil {
		sig, err = readFile(filepath.Join(dir, SignatureName), maxSignature)
	}
	if err == nil {
		err = b.open(manifest, sig, trusted)
	}
	if err != nil {
		return nil, fmt.Errorf("open bundle %s: %w", dir, err)
	}
	return b, nil
}

func (b *Reader) open(manifest, sig []byte, trusted []ed25519.PublicKey) (err error) {
	if b.Signer, err = check(manifest, sig, trusted); err != nil {
		return err
	}
	b.manifest, b.signature = manifest, sig
	b.Manifest, err = parse(manifest)
	return err
}

// Close gives back what reading takes.
func (b *Reader) Close() {
	if b.z != nil {
		b.z.Close()
	}
}

func readFile(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%w: %s has over %d bytes", ErrInvalid, name, most)
	}
	return b, err
}

// next goes to the next file of the archive, which must be of this name.
func (b *Reader) next(name string) (*tar.Header, error) {
	h, err := b.t.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: it ends before %s", ErrInvalid, name)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	case h.Typeflag != tar.TypeReg || h.Name != name:
		return nil, fmt.Errorf("%w: there is %+q where %s should be", ErrInvalid, h.Name, name)
	}
	return h, nil
}

func (b *Reader) file(name string, most int64) ([]byte, error) {
	h, err := b.next(name)
	if err != nil {
		return nil, err
	}
	if h.Size > most {
		return nil, fmt.Errorf("%w: %s has %d bytes", ErrInvalid, name, h.Size)
	}
	return io.ReadAll(b.t)
}

// Each calls do with each file of the bundle, in order, and what it holds. What do reads has been
// checked against the manifest only when Each returns without an error: what is made of a file must
// not be used before. It may be called once for a bundle that is a file.
func (b *Reader) Each(ctx context.Context, do func(File, io.Reader) error) error {
	for _, f := range b.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.each(f, do); err != nil {
			return fmt.Errorf("read bundle: %w", err)
		}
	}
	if b.t == nil {
		return nil
	}
	if h, err := b.t.Next(); err == nil {
		return fmt.Errorf("read bundle: %w: %+q is not in %s", ErrInvalid, h.Name, ManifestName)
	} else if !errors.Is(err, io.EOF) {
		return fmt.Errorf("read bundle: %w: %w", ErrInvalid, err)
	}
	return nil
}

func (b *Reader) each(of File, do func(File, io.Reader) error) error {
	var from io.Reader = b.t
	var size int64
	if b.t == nil {
		root, err := os.OpenRoot(b.dir)
		if err != nil {
			return err
		}
		defer root.Close()
		f, err := root.Open(filepath.FromSlash(of.Path))
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%w: %s is no regular file", ErrInvalid, of.Path)
		}
		from, size = f, info.Size()
	} else if h, err := b.next(of.Path); err != nil {
		return err
	} else {
		size = h.Size
	}
	if size != of.Size {
		return fmt.Errorf("%w: %s has %d bytes, not %d", ErrInvalid, of.Path, size, of.Size)
	}
	sum := sha256.New()
	r := io.TeeReader(io.LimitReader(from, of.Size), sum)
	err := do(of, r)
	if err == nil {
		_, err = io.Copy(io.Discard, r) // the rest
	}
	if err != nil {
		return fmt.Errorf("%s: %w", of.Path, err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != of.SHA256 {
		return fmt.Errorf("%w: %s is damaged", ErrInvalid, of.Path)
	}
	return nil
}

// Extract writes the bundle as a directory, which must not be there. It may be used as a read-only
// layer by everybody who may read it. Where it fails nothing is left.
func (b *Reader) Extract(ctx context.Context, dir string) (err error) {
	parent, name := filepath.Split(filepath.Clean(dir))
	if parent == "" {
		parent = "."
	}
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("extract bundle: %s is there: %w", dir, fs.ErrExist)
	}
	// Under another name until all of it was checked.
	temporary, err := os.MkdirTemp(parent, "."+name+"-")
	if err != nil {
		return fmt.Errorf("extract bundle: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(temporary)
		}
	}()
	root, err := os.OpenRoot(temporary)
	if err != nil {
		return fmt.Errorf("extract bundle: %w", err)
	}
	defer root.Close()
	for _, own := range []struct {
		name string
		data []byte
	}{{ManifestName, b.manifest}, {SignatureName, b.signature}} {
		if err := writeFile(root, own.name, strings.NewReader(string(own.data))); err != nil {
			return fmt.Errorf("extract bundle: %w", err)
		}
	}
	if err := b.Each(ctx, func(f File, r io.Reader) error { return writeFile(root, f.Path, r) }); err != nil {
		return err
	}
	if err := moved(temporary, dir); err != nil {
		return fmt.Errorf("extract bundle: %w", err)
	}
	return nil
}

// moved gives a directory its name, and lets others read it.
func moved(temporary, dir string) error {
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	return os.Rename(temporary, dir)
}

// writeFile writes a file below root that others may read.
func writeFile(root *os.Root, name string, r io.Reader) error {
	if err := root.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// Imported says what Import did.
type Imported struct {
	Stored   int // entries that were not there, or replaced a worse one
	Existing int // entries that were there
	Skipped  []Skipped
}

// Import puts the entries of a bundle into a cache. Each is checked as a hit is. Entries without their source
// cannot be imported: unpack such a bundle as a layer.
func (b *Reader) Import(ctx context.Context, to *disk.Store, progress func(entries int)) (*Imported, error) {
	dir := b.dir
	if dir == "" {
		temporary, err := os.MkdirTemp("", "kernstash-bundle-")
		if err != nil {
			return nil, fmt.Errorf("import bundle: %w", err)
		}
		defer os.RemoveAll(temporary)
		dir = filepath.Join(temporary, "root")
		if err := b.Extract(ctx, dir); err != nil {
			return nil, err
		}
	} else if err := b.Each(ctx, func(File, io.Reader) error { return nil }); err != nil {
		return nil, err
	}
	from := disk.New(disk.Options{Dir: dir, ReadOnly: true, KeepAccess: true})
	defer from.Close()
	done := new(Imported)
	for info, err := range from.List(ctx) {
		if err != nil {
			return done, fmt.Errorf("import bundle: %w", err)
		}
		res := store.Failed
		err := info.Bad
		if err == nil {
			res, err = copyEntry(ctx, from, to, info.Key)
		}
		switch {
		case ctx.Err() != nil:
			return done, fmt.Errorf("import bundle: %w", ctx.Err())
		case errors.Is(err, disk.ErrOff):
			return done, fmt.Errorf("import bundle: %w", err)
		case err != nil:
			done.Skipped = append(done.Skipped, Skipped{info.Location, err})
		case res == store.Existing:
			done.Existing++
		default:
			done.Stored++
		}
		if progress != nil {
			progress(done.Stored + done.Existing)
		}
	}
	return done, nil
}
