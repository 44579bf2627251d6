package worker

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
)

const (
	// uploadsAtOnce is how many entries are under way: most of the time of one is the
	// network's.
	uploadsAtOnce = 8

	// uploadPause is for how long no remote is asked after none could be reached.
	uploadPause = time.Minute
)

// upload is a job under way.
type upload struct {
	entry   *spool.Entry
	job     *spool.Job
	outcome spool.Outcome
}

// mayUpload reports whether there are remotes, and they are not known to be out of reach.
func (w *worker) mayUpload() bool { return w.o.Upload != nil && !time.Now().Before(w.noUploads) }

func (w *worker) uploadable(e *spool.Entry) bool {
	return e.Kind() == spool.Upload && !w.tried[e.Environment+e.Name]
}

// uploadsWait reports whether there are such jobs.
func (w *worker) uploadsWait() bool {
	jobs, err := spool.List(w.ctx, w.o.Store)
	return err == nil && slices.ContainsFunc(jobs, func(e spool.Entry) bool { return w.uploadable(&e) })
}

// uploads does the oldest of the jobs that upload, some at once, and reports whether there were any.
// Where none of them reaches a remote no others are tried for a while: they stay.
func (w *worker) uploads() bool {
	if !w.mayUpload() {
		return false
	}
	jobs, err := spool.List(w.ctx, w.o.Store)
	if err != nil {
		return false // whoever looks for other jobs says so
	}
	var all []*upload
	for i := range jobs {
		if e := &jobs[i]; w.uploadable(e) && len(all) < uploadsAtOnce {
			if j := w.read(e, time.Now()); j != nil {
				all = append(all, &upload{entry: e, job: j})
			}
		}
	}
	if len(all) == 0 {
		return false
	}
	begin := time.Now()
	w.status.Building, w.status.Since = all[0].entry.Name, begin
	w.tell()
	var under sync.WaitGroup
	for _, u := range all {
		under.Go(func() { u.outcome = w.o.Upload(w.ctx, u.job.Key()) })
	}
	under.Wait()
	w.status.Building, w.status.Since = "", time.Time{}
	if w.ctx.Err() != nil || moved(w.dir) {
		return true // the jobs stay, or went with their cache
	}
	reached := false
	for _, u := range all {
		if u.outcome.State != spool.JobElsewhere {
			reached = true
		}
	}
	if !reached {
		w.noUploads = time.Now().Add(uploadPause)
		if w.o.Once {
			w.noUploads = time.Now().Add(1e6 * time.Hour)
		}
	}
	for _, u := range all {
		w.uploaded(u, begin, reached)
	}
	return true
}

// uploaded is the end of a job. reached says that others were uploaded.
func (w *worker) uploaded(u *upload, begin time.Time, reached bool) {
	switch u.outcome.State {
	case spool.JobStored, spool.JobThere:
		w.remove(u.entry)
		w.status.Done++
		w.o.Recorder.Add(stats.JobsDone, 1)
	case spool.JobVoid:
		w.remove(u.entry)
	case spool.JobElsewhere:
		w.status.Kept++
		if reached { // it is not the remote
			w.leave(u.entry)
		}
	default:
		w.refuse(u.entry, u.job, begin, u.outcome.Reason)
		return
	}
	w.ended(u.entry, begin, u.outcome.State, u.outcome.Reason)
}

// read returns a job; nil: it is none, or cannot be read, and was seen to.
func (w *worker) read(e *spool.Entry, begin time.Time) *spool.Job {
	j, err := spool.Read(w.ctx, w.o.Store, e)
	switch {
	case err == nil:
		return j
	case errors.Is(err, spool.ErrInvalid):
		w.remove(e)
		w.refused(e, begin, err.Error())
	case errors.Is(err, spool.ErrVersion): // its own worker does it, or gc removes it
		w.keep(e)
		w.ended(e, begin, spool.JobElsewhere, err.Error())
	default: // it went, or cannot be read now
		w.leave(e)
	}
	return nil
}

// share leaves it to this worker to upload what a builder has stored.
func (w *worker) share(j *spool.Job) {
	if w.o.Upload != nil {
		_, _ = spool.Add(w.ctx, w.o.Store, spool.Job{Kind: spool.Upload, Recipe: j.Recipe, Cost: j.Cost}, w.o.Recorder)
	}
}
