package disk

import (
	"context"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
)

// spoolAge is after how long a job goes that nobody did: GC removes it.
const spoolAge = 14 * 24 * time.Hour

// collectSpool removes the files of the spool that are older than age.
func (w *sweep) collectSpool(age time.Duration, dryRun bool) error {
	return eachSpooled(w.r, !dryRun, func(d beneath.Dir, f spool.File) error {
		if age > 0 && w.s.nowNanos()-f.Modified.UnixNano() <= int64(age) {
			return w.ctx.Err()
		}
		if !dryRun {
			gone, err := w.s.removeSpooled(w.m, d, f)
			if err != nil || !gone {
				return w.ctx.Err()
			}
		}
		if _, whole := f.Job(); whole {
			w.report.Jobs++
		}
		w.report.RemovedBytes += blocks(f.Size)
		return w.ctx.Err()
	})
}

// eachShared calls f with what every file takes that entries share: header
// files, manifests, jobs.
func eachShared(ctx context.Context, r *root, f func(usage)) error {
	for _, kind := range []store.Kind{store.Headers, store.Manifests} {
		err := eachBlob(r, kind, false, func(_ beneath.Dir, _ string, _ key.Digest, info beneath.Info) error {
			f(usage{Bytes: blocks(info.Size)})
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return eachSpooled(r, false, func(_ beneath.Dir, file spool.File) error {
		f(usage{Bytes: blocks(file.Size)})
		return ctx.Err()
	})
}
