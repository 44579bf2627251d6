package disk

import (
	"time"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/disk/internal/shared"
)

// spoolAge is after how long a job goes that nobody did: GC removes it.
const spoolAge = 14 * 24 * time.Hour

// collectSpool removes the files of the spool that are older than age.
func (w *sweep) collectSpool(age time.Duration, dryRun bool) error {
	return shared.EachSpooled(w.r, !dryRun, func(d safefs.Dir, f spool.File) error {
		if age > 0 && w.s.at.NowNanos()-f.Modified.UnixNano() <= int64(age) {
			return w.ctx.Err()
		}
		if !dryRun {
			gone, err := shared.RemoveSpooled(w.s.at, w.m, d, f)
			if err != nil || !gone {
				return w.ctx.Err()
			}
		}
		if _, whole := f.Job(); whole {
			w.report.Jobs++
		}
		w.report.RemovedBytes += rootdir.Blocks(f.Size)
		return w.ctx.Err()
	})
}
