package bundle

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// modes are those of what is written.
type modes struct{ dir, file fs.FileMode }

var (
	public  = modes{0o755, 0o644}
	private = modes{0o700, 0o600}
)

// Extract writes the bundle as a directory, which must not be there. It may be used as a read-only
// layer by everybody who may read it, which the process's umask says. Where it fails nothing is left.
func (b *Reader) Extract(ctx context.Context, dir string) error {
	return b.extract(ctx, dir, public, nil)
}

// extract does that; each, unless nil, is called for each file before the directory, which will be called so,
// has its name.
func (b *Reader) extract(ctx context.Context, dir string, m modes, each func(root *os.Root, at string, f File) error) error {
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("extract bundle: %s is there: %w", dir, fs.ErrExist)
	}
	parent, name := filepath.Split(filepath.Clean(dir))
	if parent == "" {
		parent = "."
	}
	// In a directory of its own until all of it was checked.
	temporary, err := os.MkdirTemp(parent, "."+name+"-")
	if err != nil {
		return fmt.Errorf("extract bundle: %w", err)
	}
	defer os.RemoveAll(temporary)
	made := filepath.Join(temporary, "root")
	if err := os.Mkdir(made, m.dir); err != nil {
		return fmt.Errorf("extract bundle: %w", err)
	}
	root, err := os.OpenRoot(made)
	if err != nil {
		return fmt.Errorf("extract bundle: %w", err)
	}
	defer root.Close()
	for _, own := range []struct {
		name string
		data []byte
	}{{ManifestName, b.manifest}, {SignatureName, b.signature}} {
		if err := m.write(root, own.name, strings.NewReader(string(own.data))); err != nil {
			return fmt.Errorf("extract bundle: %w", err)
		}
	}
	if err := b.Each(ctx, func(f File, r io.Reader) error { return m.write(root, f.Path, r) }); err != nil {
		return err
	}
	if each != nil {
		for _, f := range b.Files {
			if err := each(root, dir, f); err != nil {
				return fmt.Errorf("extract bundle: %w", err)
			}
		}
	}
	if err := os.Rename(made, dir); err != nil {
		return fmt.Errorf("extract bundle: %w", err)
	}
	return nil
}

// write writes a file below root.
func (m modes) write(root *os.Root, name string, r io.Reader) error {
	if err := root.MkdirAll(filepath.FromSlash(path.Dir(name)), m.dir); err != nil {
		return err
	}
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, m.file)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
