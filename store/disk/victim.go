package disk

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"math"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/format"
)

// victim is what can be removed to make room. It is kept small: there are many.
type victim struct {
	names  [4][dirDigits / 2]byte
	n      uint32
	entry  bool // a .bin; else a recipe that is left over
	other  bool // of another version, where gc looked
	mtime  int64
	ctime  int64 // 0: not known
	ino    uint64
	noted  bool    // in the order: at that time it was of this version
	size   int64   // what removing it frees
	saving float64 // nanoseconds of build time, by the cost policy
}

func (v *victim) leaf() (l leafNames) {
	for i := range l {
		l[i] = hex.EncodeToString(v.names[i][:])
	}
	return l
}

// name sets the names; ok says that they can be a leaf's.
func (v *victim) name(names leafNames) (ok bool) {
	for i, name := range names {
		if n, err := hex.Decode(v.names[i][:], []byte(name)); err != nil || n != len(v.names[i]) {
			return false
		}
	}
	return true
}

// orphanAge is how old a recipe without an entry, or a temporary file, must be
// to be counted as left behind by a writer that is gone.
const orphanAge = time.Hour

// halfLife is the time without use after which an entry counts half as much.
const halfLife = 7 * 24 * time.Hour

// used is when a victim was last used, by what the clock says now: one of the
// future was noted by a clock that was wrong, and would never be old.
func (v *victim) used(now int64) int64 { return min(v.mtime, now) }

// worth ranks a victim under the cost policy: the build time that a byte
// saves, aged.
func (v *victim) worth(now int64) float64 {
	return worth(v.saving, v.size, time.Duration(now-v.used(now)))
}

func worth(saving float64, size int64, unused time.Duration) float64 {
	return saving / float64(size) * math.Exp2(-float64(unused)/float64(halfLife))
}

// Worth ranks an entry as the policy Cost does, by what its build took, its size, and
// for how long it was not used: of two the one that is worth more goes later.
func Worth(cost time.Duration, size int64, unused time.Duration) float64 {
	return worth(float64(cost), max(size, 1), max(unused, 0))
}

// victim describes an item whose last removal frees so many directories. ok says
// that it may be removed.
func (s *Store) victim(names leafNames, it *item, dirs int) (v victim, ok bool) {
	v = victim{n: it.n, entry: it.bin != nil, size: it.usage().plus(directories(dirs)).bytes}
	if !v.name(names) {
		return v, false
	}
	switch {
	case v.entry:
		v.mtime, v.ctime, v.ino = it.bin.Mtime, it.bin.Ctime, it.bin.Ino
	case it.src.Kind == beneath.Regular && s.nowNanos()-it.src.Mtime > int64(orphanAge):
		v.mtime = it.src.Mtime
	default:
		return v, false // its .bin may be about to come
	}
	return v, it.usage().bytes > 0
}

// removeVictim removes a victim below a device under the lock of its leaf, after
// looking again: one that was used or replaced since stays, and so, unless everything
// goes, does one of another version. It returns what its files took, and how many
// directories went with them; a device that is empty then is the caller's to remove.
func (s *Store) removeVictim(ctx context.Context, device beneath.Dir, m *meta, v *victim, everything bool) (u usage, dirs int, gone bool) {
	names := v.leaf()
	b, err := openBranch(device, names)
	defer b.close()
	if err != nil {
		return u, 0, false
	}
	unlock, err := s.lockLeaf(ctx, m, names, 0)
	if err != nil {
		return u, 0, false
	}
	defer unlock()
	leaf := b.dirs[len(b.dirs)-1]
	info, err := leaf.Lstat(binName(v.n))
	switch {
	case v.entry && (err != nil || info.Mtime != v.mtime):
		return u, 0, false
	case !v.entry && (!errors.Is(err, fs.ErrNotExist) || !everything && !replaceableSrc(leaf, v.n)):
		return u, 0, false
	}
	var bin *beneath.Info
	if v.entry {
		bin = &info
		if !everything && !v.seen(bin) {
			if _, other, err := s.look(leaf, v.n); err != nil || other {
				return u, 0, false
			}
		}
	}
	if u, err = removeFiles(leaf, v.n, bin, everything, v.lookSrc); err != nil {
		return u, 0, false
	}
	return u, b.prune(device), true
}

// seen says whether a file is what the census, or who wrote it, has looked into.
func (v *victim) seen(bin *beneath.Info) bool {
	return v.noted || v.ctime != 0 && v.ctime == bin.Ctime && v.ino == bin.Ino && !v.other
}

// lookSrc is lookSrc beside the entry, which is of this version. A put gives both files
// one time, so a recipe of that time is of this version too.
func (v *victim) lookSrc(leaf beneath.Dir, n uint32) (src *beneath.Info, replaceable bool) {
	if v.entry && !v.other {
		info, err := leaf.Lstat(srcName(n))
		if err == nil && info.Kind == beneath.Regular && info.Mtime == v.mtime {
			return &info, true
		}
	}
	return lookSrc(leaf, n)
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
