package disk

import (
	"errors"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/disk/internal/shared"
)

// countShared counts what entries share.
func (w *sweep) countShared() error {
	return shared.EachShared(w.ctx, w.r, func(u evict.Usage) { w.report.Bytes += u.Bytes })
}

// headerUses gathers which header files recipes name, while GC walks. A nil
// *headerUses gathers nothing: there is nothing to collect.
type headerUses struct {
	used   map[key.Digest]struct{}
	unsure bool // some recipe could not be asked: all headers stay
}

// collectable returns what gathers uses, if there are headers that may go.
func (w *sweep) collectable() *headerUses {
	some := errors.New("there are some")
	err := shared.EachBlob(w.r, store.Headers, false, func(_ safefs.Dir, _ string, _ key.Digest, info safefs.Info) error {
		if w.collects(info) {
			return some
		}
		return nil
	})
	if !errors.Is(err, some) {
		return nil
	}
	return &headerUses{used: make(map[key.Digest]struct{})}
}

// collects says whether a header is old enough to go. One that was just
// written may be so before its recipe.
func (w *sweep) collects(info safefs.Info) bool {
	return w.s.at.NowNanos()-info.Mtime > int64(orphanAge)
}

// add notes the headers of a recipe that stays. A recipe that is damaged names
// none; one of another version may name any.
func (h *headerUses) add(s *Store, leaf safefs.Dir, it *rootdir.Item) {
	if h == nil || h.unsure || it.Src == nil {
		return
	}
	rec, _, err := s.at.ReadRecipe(leaf, rootdir.SrcName(it.N), format.MaxSize)
	switch {
	case err == nil:
		h.names(rec)
	case rootdir.IgnoreGone(err) != nil && !rootdir.Damaged(err):
		h.unsure = true
	}
}

// collectHeaders removes the headers that no recipe names any more.
func (w *sweep) collectHeaders(h *headerUses, dryRun bool) error {
	if h == nil || h.unsure {
		return nil
	}
	if err := h.headersOfJobs(w.s, w.r); err != nil || h.unsure {
		return err
	}
	return shared.EachBlob(w.r, store.Headers, !dryRun, func(dir safefs.Dir, _ string, d key.Digest, info safefs.Info) error {
		if _, used := h.used[d]; used || !w.collects(info) {
			return w.ctx.Err()
		}
		if w.removeBlob(dir, d, info, dryRun) {
			w.report.Headers++
		}
		return w.ctx.Err()
	})
}

// collectManifests removes the manifests that were not used for longer than
// age.
func (w *sweep) collectManifests(age int64, dryRun bool) error {
	if age <= 0 {
		return nil
	}
	return shared.EachBlob(w.r, store.Manifests, !dryRun, func(dir safefs.Dir, _ string, d key.Digest, info safefs.Info) error {
		if w.s.at.NowNanos()-info.Mtime > age && w.removeBlob(dir, d, info, dryRun) {
			w.report.Manifests++
		}
		return w.ctx.Err()
	})
}

// removeBlob removes a file unless it was written or used since info.
func (w *sweep) removeBlob(dir safefs.Dir, d key.Digest, info safefs.Info, dryRun bool) bool {
	if !dryRun {
		now, err := dir.Lstat(d.String())
		if err != nil || now.Mtime != info.Mtime || now.Ino != info.Ino || dir.Remove(d.String()) != nil {
			return false
		}
		w.s.at.AccountAdd(w.m, evict.Shared, evict.Usage{}.Minus(rootdir.FileUsage(nil, &info)))
	}
	w.report.RemovedBytes += rootdir.Blocks(info.Size)
	return true
}

// clearBlobs removes all headers and manifests.
func (w *sweep) clearBlobs() error {
	for _, kind := range []store.Kind{store.Headers, store.Manifests} {
		err := shared.EachBlob(w.r, kind, true, func(dir safefs.Dir, _ string, d key.Digest, info safefs.Info) error {
			if w.removeBlob(dir, d, info, false) {
				if kind == store.Headers {
					w.report.Headers++
				} else {
					w.report.Manifests++
				}
			}
			return w.ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// verifyHeaders reads every header file's content.
func (w *sweep) verifyHeaders(repair bool) error {
	return shared.EachBlob(w.r, store.Headers, false, func(dir safefs.Dir, location string, d key.Digest, info safefs.Info) error {
		err := w.s.checkHeaderFile(dir, d)
		if rootdir.Damaged(err) {
			w.report.BadHeaders++
			w.report.problem(location, err, repair && dir.Remove(d.String()) == nil)
		}
		return w.ctx.Err()
	})
}

func (s *Store) checkHeaderFile(dir safefs.Dir, d key.Digest) error {
	f, info, err := s.at.OpenBin(dir, d.String())
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size > shared.MaxBlob[store.Headers] {
		return format.ErrForeign // and perhaps a hole that takes hours to read
	}
	return shared.CheckContent(f, info.Size, d)
}
