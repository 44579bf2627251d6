package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// Reader reads a bundle. Close it.
type Reader struct {
	*Manifest
	Signer ed25519.PublicKey // who has signed the manifest; nil: nobody

	trusted bool // it is one of the keys that the caller trusts

	z       *zstd.Decoder // of a file
	t       *tar.Reader
	archive io.Reader // that t reads

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
	b.t, b.archive = tar.NewReader(r), r
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
	if err := z.Close(); err != nil {
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
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open bundle: %w", err)
	}
	defer root.Close()
	manifest, err := readFile(root, ManifestName, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: there is no %s", ErrInvalid, ManifestName)
	}
	var sig []byte
	if err == nil {
		sig, err = readFile(root, SignatureName, maxSignature)
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
	b.manifest, b.signature, b.trusted = manifest, sig, len(trusted) > 0
	b.Manifest, err = parse(manifest)
	return err
}

// Close gives back what reading takes.
func (b *Reader) Close() {
	if b.z != nil {
		b.z.Close()
	}
}

// openRegular opens a file below root, and waits for nobody where it is a pipe.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: %s is no regular file", ErrInvalid, name)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func readFile(root *os.Root, name string, most int64) ([]byte, error) {
	f, _, err := openRegular(root, name)
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
	const padding = 1 << 20 // zeros end an archive
	rest, err := io.ReadAll(io.LimitReader(b.archive, padding))
	if err == nil && (len(rest) == padding || len(bytes.Trim(rest, "\x00")) > 0) {
		err = errors.New("there is more behind it")
	}
	if err != nil {
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
		f, info, err := openRegular(root, of.Path)
		if err != nil {
			return err
		}
		defer f.Close()
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
		e, err := read(ctx, from, info)
		if err == nil {
			res, err = to.Put(ctx, e)
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
