package disk

import (
	"context"
	"errors"
	"io/fs"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/format"
)

// removeVictim removes a victim under the lock of its leaf, after looking
// again: one that was used or replaced since stays, and so, unless everything
// goes, does one of another version. u is what was there.
func (s *Store) removeVictim(ctx context.Context, r *root, m *meta, v victim, everything bool) (u usage, gone bool) {
	names := v.leaf()
	leaf, err := r.dir.OpenDir(names.path())
	if err != nil {
		return u, false
	}
	defer leaf.Close()
	unlock, err := s.lockLeaf(ctx, m, names, 0)
	if err != nil {
		return u, false
	}
	defer unlock()
	u = sizeOf(leaf, v.n)
	info, err := leaf.Lstat(binName(v.n))
	switch {
	case v.entry && (err != nil || info.Mtime != v.mtime):
		return u, false
	case !v.entry && (!errors.Is(err, fs.ErrNotExist) || !everything && !replaceableSrc(leaf, v.n)):
		return u, false
	}
	if v.entry && !everything {
		if _, other, err := s.look(leaf, v.n); err != nil || other {
			return u, false
		}
	}
	if err := s.removeEntry(m, leaf, v.n, everything); err != nil {
		return u, false
	}
	prune(r.dir, names)
	return u, true
}

// look reads the start of an entry: what building it took, 0 for one that
// cannot hit, and whether it is of another version of kernstash. An error says
// that nobody knows: it is gone, or there is no descriptor left.
func (s *Store) look(leaf beneath.Dir, n uint32) (cost int64, other bool, err error) {
	var fixed format.Fixed
	f, info, err := s.openBin(leaf, binName(n))
	if err == nil {
		defer f.Close()
		b := make([]byte, min(info.Size, format.FixedBytes))
		if err = readFull(f, b); err == nil {
			fixed, err = format.ParseFixed(b, info.Size)
		}
	}
	switch {
	case errors.Is(err, format.ErrVersion):
		return 0, true, nil
	case damaged(err):
		return 0, false, nil
	}
	return fixed.Cost, false, err
}
