package disk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// Seal returns the head of the seal with which the entry of k was put; nil: it has none. Whatever
// prevents this is a *store.MissError.
func (s *Store) Seal(ctx context.Context, k key.Key) (head []byte, err error) {
	err = s.at.Look(ctx, func(r *rootdir.Root) error {
		leaf, err := r.Dir.OpenDir(s.at.Names(k).Path())
		if err != nil {
			return err
		}
		defer leaf.Close()
		numbers, _, err := rootdir.Numbers(leaf)
		if err != nil {
			return err
		}
		last := fmt.Errorf("read seal: %w", fs.ErrNotExist)
		for _, n := range numbers {
			if last = s.at.Owns(leaf, rootdir.BinName(n), k); last == nil {
				head, err = s.at.ReadSeal(leaf, rootdir.SrcName(n))
				return err
			}
		}
		return last
	})
	return head, rootdir.Miss(err)
}

// vet returns nil where the entry of a file that is open, at a path in d, may be handed out.
func (s *Store) vet(d safefs.Dir, path string, k key.Key, bin safefs.File, info safefs.Info) error {
	if s.o.Vetter == nil {
		return nil
	}
	seal, err := s.at.ReadSeal(d, rootdir.SrcOf(path)) // without one it is asked all the same: none may be needed
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !rootdir.Damaged(err) {
		return err
	}
	return s.vetted(s.o.Vetter.Vet(k, seal, io.NewSectionReader(bin, 0, info.Size)))
}

func (s *Store) vetted(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", rootdir.ErrUntrusted, err)
	}
	return nil
}

// vetFile is vet of entry n of a leaf.
func (s *Store) vetFile(leaf safefs.Dir, n uint32, k key.Key) error {
	if s.o.Vetter == nil {
		return nil
	}
	f, info, err := s.at.OpenBin(leaf, rootdir.BinName(n))
	if err != nil {
		return err
	}
	defer f.Close()
	return s.vet(leaf, rootdir.BinName(n), k, f, info)
}

// vetEntry is vet of what is about to be put.
func (w *writer) vetEntry() error {
	if w.s.o.Vetter == nil {
		return nil
	}
	var parts []io.Reader
	for _, p := range w.bin.Parts {
		parts = append(parts, bytes.NewReader(p))
	}
	err := w.s.vetted(w.s.o.Vetter.Vet(w.e.Key, w.seal(), io.MultiReader(parts...)))
	if err != nil {
		err = fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return err
}

func (w *writer) seal() []byte {
	if w.e.Seal == nil {
		return nil
	}
	return w.e.Seal.Head
}

// sealMagic begins the file of a manifest that has a seal; its length follows.
const sealMagic = "kstseal\n"

// splitSeal returns the seal of a manifest's file, nil where there is none, and the manifest.
func splitSeal(b []byte) (seal, content []byte) {
	const start = len(sealMagic) + 4
	if len(b) < start || string(b[:len(sealMagic)]) != sealMagic {
		return nil, b
	}
	n := binary.LittleEndian.Uint32(b[len(sealMagic):])
	if n > format.MaxSeal || int64(n) > int64(len(b)-start) {
		return nil, b // which is no manifest
	}
	return b[start : start+int(n)], b[start+int(n):]
}

// PutSealedBlob is PutBlob of a manifest with a seal.
func (s *Store) PutSealedBlob(ctx context.Context, kind store.Kind, name key.Digest, content, seal []byte) error {
	if kind != store.Manifests || len(seal) > format.MaxSeal {
		return fmt.Errorf("put %s with a seal: %w", kind, store.ErrInvalid)
	}
	return s.putSealed(ctx, kind, name, content, seal)
}

// sealedManifest returns the file of a manifest; nil: it is there, and another seal is not known.
func (s *Store) sealedManifest(r *rootdir.Root, path string, name key.Digest, content, seal []byte) ([]byte, error) {
	if s.o.Vetter != nil {
		if seal == nil {
			if there, _, err := s.manifest(r, path, name); err == nil && bytes.Equal(there, content) {
				return nil, nil
			}
		}
		if err := s.vetted(s.o.Vetter.VetBlob(name, seal, content)); err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
		}
	}
	if seal == nil {
		return content, nil
	}
	return bytes.Join([][]byte{binary.LittleEndian.AppendUint32([]byte(sealMagic), uint32(len(seal))), seal, content}, nil), nil
}

// manifest reads a manifest that may be handed out.
func (s *Store) manifest(r *rootdir.Root, path string, name key.Digest) ([]byte, safefs.Info, error) {
	b, info, err := s.at.ReadFile(r.Dir, path, maxBlob[store.Manifests]+format.MaxSeal, nil)
	if err != nil {
		return nil, info, err
	}
	seal, content := splitSeal(b)
	if s.o.Vetter != nil {
		err = s.vetted(s.o.Vetter.VetBlob(name, seal, content))
	}
	return content, info, err
}
