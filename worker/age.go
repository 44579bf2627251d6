package worker

import (
	"context"
	"time"

	"github.com/kernstash/kernstash/store/disk"
)

// ageEvery is how often a root is looked through for entries that are too old.
const ageEvery = 24 * time.Hour

// age removes entries that nobody has used for longer than they are to be kept, and whatever else
// nobody needs, once a day for a root. It is left for another time when there is a job, or
// somebody wants the worker to end.
func (w *worker) age() {
	if since := time.Since(w.status.Aged); w.o.MaxAge <= 0 || since >= 0 && since < ageEvery {
		return
	}
	aged := w.meanwhile(func(ctx context.Context) bool {
		r, err := w.o.Store.GC(ctx, disk.GCOptions{MaxAge: w.o.MaxAge}, nil)
		w.o.Trace.Info("old entries removed", "entries", r.Removed, "of", r.Entries, "bytes", r.RemovedBytes)
		return err == nil
	}, func() bool { return w.asked() || w.more() })
	if aged {
		w.status.Aged = time.Now()
	}
}

// refill sees that there is a job again, if there are more.
func (w *worker) refill() bool {
	return w.o.Refill != nil && w.meanwhile(w.o.Refill, w.asked)
}

// meanwhile calls f at the priority of builds, until something else is to be done.
func (w *worker) meanwhile(f func(context.Context) bool, until func() bool) bool {
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	done := make(chan bool, 1)
	go func() {
		if !w.o.NormalPriority {
			yield() // the thread, which ends with the goroutine
		}
		done <- f(ctx)
	}()
	for {
		select {
		case is := <-done:
			return is
		case <-time.After(lookEvery):
			if until() {
				cancel()
				<-done
				return false
			}
		}
	}
}
