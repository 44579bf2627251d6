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
func (w *sweep) collect(kind store.Kind, unneeded func(f shared.File, info safefs.Info) bool) error {
	return shared.Each(w.r, kind, w.alone, func(dir safefs.Dir, f shared.File, info safefs.Info) error {
		if !unneeded(f, info) {
			return w.ctx.Err()
		}
		if w.alone {
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

// gather has the uses of headers noted, if there are some that may go.
func (w *sweep) gather() {
	some := false
	err := shared.Each(w.r, store.Headers, false, func(_ safefs.Dir, _ shared.File, info safefs.Info) error {
		some = some || w.olderThan(orphanAge, info)
		return w.ctx.Err()
	})
	if err == nil && some {
		w.used = make(map[key.Digest]bool)
	}
}

// uses notes the headers of a recipe that stays. A recipe that is damaged names
// none; one of another version may name any.
func (w *sweep) uses(leaf safefs.Dir, it *rootdir.Item) {
	if w.used == nil || w.unsure || it.Src == nil {
		return
	}
	switch rec, err := w.s.at.ReadRecipe(leaf, rootdir.SrcName(it.N), format.MaxSize); {
	case err == nil:
		w.names(rec)
	case rootdir.IgnoreGone(err) != nil && !rootdir.Damaged(err):
		w.unsure = true
	}
}

// collectHeaders removes the headers that no recipe names any more, if all recipes were
// seen. One that was just written may be so before its recipe.
func (w *sweep) collectHeaders() error {
	if w.used == nil || w.unsure || w.partial || len(w.report.Problems) > 0 {
		return nil
	}
	if err := w.usesOfJobs(); err != nil || w.unsure {
		return err
	}
	return w.collect(store.Headers, func(f shared.File, info safefs.Info) bool {
		d, _ := f.Digest()
		return !w.used[d] && w.olderThan(orphanAge, info)
	})
}

// usesOfJobs notes the headers of the recipes that wait in the spool.
func (w *sweep) usesOfJobs() error {
	return shared.Each(w.r, shared.Spool, false, func(d safefs.Dir, f shared.File, _ safefs.Info) error {
		if _, whole := (spool.File{Name: f.Name}).Job(); !whole {
			return nil
		}
		b, _, err := w.s.at.ReadFile(d, f.Name, format.MaxJob, nil)
		if err != nil {
			return nil // nobody else can read it either
		}
		switch _, rec, err := format.DecodeJob(b); {
		case err == nil:
			w.names(rec)
		case errors.Is(err, format.ErrVersion):
			w.unsure = true
		}
		return nil
	})
}

func (w *sweep) names(r *key.Recipe) {
	for _, u := range r.Image.Units() {
		for i := range u.Files {
			w.used[u.Files[i].Digest] = true
		}
	}
}

func (w *sweep) verifyHeaders() error {
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
			w.report.problem(f.Path(), err, w.alone && dir.Remove(f.Name) == nil)
		}
		return w.ctx.Err()
	})
}
