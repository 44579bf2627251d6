package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

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

// vet returns nil where the entry of a file that is open may be handed out. Its .src is at a path in d.
func (s *Store) vet(d safefs.Dir, src string, k key.Key, bin safefs.File, info safefs.Info) error {
	if s.o.Vet == nil {
		return nil
	}
	seal, err := s.at.ReadSeal(d, src) // without one it is asked all the same: none may be needed
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !rootdir.Damaged(err) {
		return err
	}
	return s.vetted(s.o.Vet(k, seal, io.NewSectionReader(bin, 0, info.Size)))
}

func (s *Store) vetted(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", rootdir.ErrUntrusted, err)
	}
	return nil
}

// vetFile is vet of entry n of a leaf.
func (s *Store) vetFile(leaf safefs.Dir, n uint32, k key.Key) error {
	if s.o.Vet == nil {
		return nil
	}
	f, info, err := s.at.OpenBin(leaf, rootdir.BinName(n))
	if err != nil {
		return err
	}
	defer f.Close()
	return s.vet(leaf, rootdir.SrcName(n), k, f, info)
}

// vetEntry is vet of what is about to be put.
func (w *writer) vetEntry() error {
	if w.s.o.Vet == nil {
		return nil
	}
	var parts []io.Reader
	for _, p := range w.bin.Parts {
		parts = append(parts, bytes.NewReader(p))
	}
	err := w.s.vetted(w.s.o.Vet(w.e.Key, w.seal(), io.MultiReader(parts...)))
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
