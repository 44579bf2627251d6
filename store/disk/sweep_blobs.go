package disk

import (
	"crypto/sha256"
	"errors"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/disk/internal/shared"
)

// spoolAge is after how long a job goes that nobody did: GC removes it.
const spoolAge = 14 * 24 * time.Hour

// collect removes the files that entries share for which unneeded says so.
func (w *sweep) collect(kind store.Kind, dryRun bool, unneeded func(f shared.File, info safefs.Info) bool) error {
	return shared.Each(w.r, kind, !dryRun, func(dir safefs.Dir, f shared.File, info safefs.Info) error {
		if !unneeded(f, info) {
			return w.ctx.Err()
		}
		if !dryRun {
			if gone, err := f.Remove(w.s.at, w.m, dir, info); err != nil || !gone {
				return w.ctx.Err()
			}
		}
		w.report.RemovedBytes += rootdir.FileUsage(nil, &info).Bytes
		switch kind {
		case store.Headers:
			w.report.Headers++
		case store.Manifests:
			w.report.Manifests++
		case shared.Spool:
			if _, whole := (spool.File{Name: f.Name}).Job(); whole {
				w.report.Jobs++
			}
		}
		return w.ctx.Err()
	})
}

// olderThan reports whether a file was not written or used for an age.
func (w *sweep) olderThan(age time.Duration, info safefs.Info) bool {
	return w.s.at.NowNanos()-info.Mtime > int64(age)
}

// headerUses gathers which header files recipes name, while GC walks. A nil
// *headerUses gathers nothing: there is nothing to collect.
type headerUses struct {
	used   map[key.Digest]bool
	unsure bool // some recipe could not be asked: all headers stay
}

// collectable returns what gathers uses, if there are headers that may go.
func (w *sweep) collectable() *headerUses {
	some := false
	err := shared.Each(w.r, store.Headers, false, func(_ safefs.Dir, _ shared.File, info safefs.Info) error {
		some = some || w.olderThan(orphanAge, info)
		return w.ctx.Err()
	})
	if err != nil || !some {
		return nil
	}
	return &headerUses{used: make(map[key.Digest]bool)}
}

// add notes the headers of a recipe that stays. A recipe that is damaged names
// none; one of another version may name any.
func (h *headerUses) add(s *Store, leaf safefs.Dir, it *rootdir.Item) {
	if h == nil || h.unsure || it.Src == nil {
		return
	}
	rec, err := s.at.ReadRecipe(leaf, rootdir.SrcName(it.N), format.MaxSize)
	switch {
	case err == nil:
		h.names(rec)
	case rootdir.IgnoreGone(err) != nil && !rootdir.Damaged(err):
		h.unsure = true
	}
}

// collectHeaders removes the headers that no recipe names any more. One that was just
// written may be so before its recipe.
func (w *sweep) collectHeaders(h *headerUses, dryRun bool) error {
	if h == nil || h.unsure {
		return nil
	}
	if err := h.addJobs(w.s, w.r); err != nil || h.unsure {
		return err
	}
	return w.collect(store.Headers, dryRun, func(f shared.File, info safefs.Info) bool {
		d, _ := f.Digest()
		return !h.used[d] && w.olderThan(orphanAge, info)
	})
}

// addJobs notes the headers of the recipes that wait in the spool.
func (h *headerUses) addJobs(s *Store, r *rootdir.Root) error {
	return shared.Each(r, shared.Spool, false, func(d safefs.Dir, f shared.File, _ safefs.Info) error {
		if _, whole := (spool.File{Name: f.Name}).Job(); !whole {
			return nil
		}
		b, _, err := s.at.ReadFile(d, f.Name, format.MaxJob, nil)
		if err != nil {
			return nil // nobody else can read it either
		}
		_, rec, err := format.DecodeJob(b)
		switch {
		case err == nil:
			h.names(rec)
		case errors.Is(err, format.ErrVersion):
			h.unsure = true
		}
		return nil
	})
}

func (h *headerUses) names(r *key.Recipe) {
	for _, u := range r.Image.Units() {
		for i := range u.Files {
			h.used[u.Files[i].Digest] = true
		}
	}
}

// verifyHeaders reads every header file's content.
func (w *sweep) verifyHeaders(repair bool) error {
	return shared.Each(w.r, store.Headers, false, func(dir safefs.Dir, f shared.File, _ safefs.Info) error {
		b, _, err := w.s.at.ReadFile(dir, f.Name, maxBlob[store.Headers], nil)
		switch {
		case errors.Is(err, store.ErrTooLarge):
			err = format.ErrForeign // and perhaps a hole that takes hours to read
		case err == nil && f != shared.Blob(store.Headers, sha256.Sum256(b)):
			err = format.ErrDigest
		}
		if rootdir.Damaged(err) {
			w.report.BadHeaders++
			w.report.problem(f.Path(), err, repair && dir.Remove(f.Name) == nil)
		}
		return w.ctx.Err()
	})
}
