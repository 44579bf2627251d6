package bundles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/kernstash/kernstash/bundle"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/trust"
)

// annotation marks images that are bundles.
const annotation = "dev.kernstash.bundle"

// archive returns what opens the archive of a bundle, which is the layer of its image.
func archive(file string) tarball.Opener {
	return func() (io.ReadCloser, error) {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		r, err := bundle.Archive(f)
		if err != nil {
			f.Close()
			return nil, err
		}
		return &opened{r, f}, nil
	}
}

type opened struct {
	io.ReadCloser
	file *os.File
}

func (o *opened) Close() error { return errors.Join(o.ReadCloser.Close(), o.file.Close()) }

// image returns the image of a bundle. Its layer is compressed by gzip, which every tool knows.
func image(file string, m *bundle.Manifest) (v1.Image, error) {
	l, err := tarball.LayerFromOpener(archive(file), tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	at := v1.Time{Time: m.Created}
	img, err = mutate.Append(img, mutate.Addendum{Layer: l, History: v1.History{CreatedBy: "kernstash bundle", Created: at}})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Created, config.OS, config.Architecture = at, "linux", runtime.GOARCH
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(img, map[string]string{annotation: strconv.Itoa(bundle.Version)}).(v1.Image), nil
}

// moved is what `bundle push --json` and `bundle pull --json` write.
type moved struct {
	Bundle    string `json:"bundle"`
	Reference string `json:"reference"` // with the digest
	Entries   int    `json:"entries"`
	Size      int64  `json:"size"`
	Signer    string `json:"signer,omitempty"`
}

// Push writes a bundle, a file, to a registry as an ordinary image.
func Push(ctx context.Context, a *cli.App, file, reference string, trust []string) error {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return cli.Usagef("bundle push: %v", err)
	}
	trusted, err := publicKeys(trust)
	if err != nil {
		return err
	}
	r, closed, err := Open(file, trusted)
	if err != nil {
		return err
	}
	defer closed()
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return fmt.Errorf("push bundle: %s is a directory: 'kernstash bundle create' makes a file of it", file)
	}
	if err := r.Each(ctx, func(bundle.File, io.Reader) error { return nil }); err != nil {
		return err // what is damaged is not sent
	}
	img, err := image(file, r.Manifest)
	var size int64
	if err == nil {
		size, err = layerSize(img)
	}
	if err != nil {
		return fmt.Errorf("push bundle: %w", err)
	}
	p := a.Progress()
	p.Say("pushing %s to %s", human.Size(size), ref)
	err = remote.Write(ref, img, options(ctx)...)
	p.Done()
	if err != nil {
		return fmt.Errorf("push bundle: %w", err)
	}
	digest, err := img.Digest()
	if err != nil {
		return fmt.Errorf("push bundle: %w", err)
	}
	return report(a, "pushed", moved{Bundle: file, Reference: ref.Context().Digest(digest.String()).String(), Entries: len(r.Entries), Size: size}, r)
}

// Pull reads a bundle from a registry into a file, which it replaces.
func Pull(ctx context.Context, a *cli.App, reference, file string, trust []string) error {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return cli.Usagef("bundle pull: %v", err)
	}
	img, err := remote.Image(ref, options(ctx)...)
	if err != nil {
		return fmt.Errorf("pull bundle: %w", err)
	}
	digest, err := img.Digest()
	var layers []v1.Layer
	if err == nil {
		layers, err = img.Layers()
	}
	if err != nil {
		return fmt.Errorf("pull bundle: %w", err)
	}
	if len(layers) != 1 {
		return fmt.Errorf("pull bundle: %s: %w: an image of %s", ref, bundle.ErrInvalid, human.Plural(len(layers), "layer"))
	}
	p := a.Progress()
	p.Say("pulling %s", ref)
	defer p.Done()
	s, err := a.Settings()
	if err != nil {
		return err
	}
	trusted, err := Trusted(s, trust)
	if err != nil {
		return err
	}
	var r *bundle.Reader
	size, err := replace(file, func(w *os.File) error {
		from, err := layers[0].Uncompressed()
		if err != nil {
			return err
		}
		defer from.Close()
		r, err = bundle.Repack(ctx, from, trusted, w)
		return err
	})
	if err != nil {
		return fmt.Errorf("pull bundle: %s: %w", ref, err)
	}
	p.Done()
	return report(a, "pulled", moved{Bundle: file, Reference: ref.Context().Digest(digest.String()).String(), Entries: len(r.Entries), Size: size}, r)
}

func layerSize(img v1.Image) (int64, error) {
	layers, err := img.Layers()
	if err != nil {
		return 0, err
	}
	return layers[0].Size()
}

func report(a *cli.App, verb string, m moved, r *bundle.Reader) error {
	if r.Signer != nil {
		m.Signer = trust.Fingerprint(r.Signer)
	}
	return a.Report(m, true, func() {
		a.Printf("%s %s, %s: %s\n", verb, human.Plural(m.Entries, "entry"), human.Size(m.Size), m.Reference)
	})
}
