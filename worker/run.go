// Package worker does what applications saw and could not do themselves: it takes jobs from
// the spool of a cache (package spool), one at a time unless told otherwise, and has each done by
// a process of its own, at idle priority unless somebody waits for it, with a limit of time. A compiler that crashes or hangs takes
// nobody with it; a worker that is killed leaves its job in the spool, and nothing locked.
//
// There is one worker for a root. It ends when there is nothing to do for a few seconds,
// when it was asked to, when its budget is spent, and when its cache is removed.
package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

const (
	// maxFailed is how often a compiler may crash on a job, or take too long,
	// before the job is dropped: it is tried again once.
	maxFailed = 2

	// maxBegun is how often a job may be begun before it is dropped: by workers
	// that were killed, be it by what it needed, and where memory was short.
	maxBegun = 20

	// missingFor is for how long a machine that has not what a job needs, its device
	// or driver, is not tried again by workers that wait for more jobs. The job stays.
	missingFor = time.Hour

	// lookEvery is how often a worker looks whether there is something to do, and
	// whether it is asked to end.
	lookEvery = 200 * time.Millisecond

	// maxQuiet bounds how long a job waits for what else its application launches.
	maxQuiet = 30 * time.Second

	// unlaunchedFactor is how much longer a program waits that nobody launched yet:
	// building it now and again for its launches takes the time twice.
	unlaunchedFactor = 5

	// clockStep is how far the time of files may be behind.
	clockStep = 20 * time.Millisecond
)

// ErrNoCommand is wrapped where there is no program to build with.
var ErrNoCommand = errors.New("no command to build with")

// Run does the jobs of a store until there are none, and returns how it went. Where
// a worker runs already it does nothing: then the error wraps store.ErrLocked.
// When ctx ends, so does the build that is under way, and its job stays.
func Run(ctx context.Context, o Options) (Status, error) {
	o.fill()
	if len(o.Command) == 0 {
		return Status{}, ErrNoCommand
	}
	// Before the lock, by which others see a worker that they may ask to end; and before
	// the time of files, which comes in steps.
	w := &worker{o: o, ctx: ctx, tried: make(map[string]bool), builds: make(map[string]time.Time), built: make(chan built), begun: time.Now().Add(-clockStep)}
	if o.Environ == nil {
		w.o.Environ = os.Environ()
	}
	// The jobs, and what became of them, are those of the cache that is locked.
	held, err := o.Store.Hold()
	if err != nil {
		return Status{}, err
	}
	defer held.Close()
	w.o.Store = held
	for {
		unlock, err := held.LockWorker(ctx)
		if err != nil {
			return w.status, err
		}
		err = w.run()
		w.o.Keep(held) // who waits for the end may remove the cache then
		unlock()
		// Who added a job a moment ago saw a worker, and started none.
		if err != nil || w.status.End != endIdle || !w.more() {
			return w.status, err
		}
	}
}

// Why most workers end.
const (
	endIdle  = "nothing to do"
	endAsked = "asked to"
)

type worker struct {
	o      Options
	ctx    context.Context
	dir    *os.Root // in which builders work
	host   string   // this machine, as far as jobs are concerned
	status Status
	tried  map[string]bool      // jobs that this worker leaves alone
	builds map[string]time.Time // the names of jobs that are being done, and since when
	built  chan built
	since  time.Time // since when it has had nothing to do
	begun  time.Time // when Run was called, for requests to stop

	noUploads time.Time // until then no remote is asked
}

func (w *worker) run() error {
	path, err := w.o.Store.WorkDir(w.ctx)
	if err != nil {
		return err
	}
	if w.dir, err = os.OpenRoot(path); err != nil {
		return err
	}
	defer w.dir.Close()
	// It fails where the cache was removed, and the directory is that of another at its path.
	if _, err = w.o.Store.WorkDir(w.ctx); err != nil {
		return err
	}
	empty(w.dir) // of what builders left, of workers that were killed too
	defer empty(w.dir)
	if w.status.Started.IsZero() {
		w.host, _ = os.Hostname()
		last, _ := note(w.o.Store)
		last.Last = last.Last[:min(len(last.Last), maxLast)]
		w.status = Status{PID: os.Getpid(), Host: w.host, Started: time.Now(), Aged: last.Aged, Last: last.Last}
	}
	w.status.Running, w.status.End, w.status.Ended = true, "", time.Time{}
	defer func() {
		w.status.Running, w.status.Ended = false, time.Now()
		w.tell()
	}()
	w.since = time.Now()
	w.tell()
	defer func() {
		for len(w.builds) > 0 {
			w.finish(<-w.built)
		}
	}()
	for {
		if len(w.builds) >= w.o.Jobs {
			w.finish(<-w.built)
			w.since = time.Now()
			continue
		}
		if err := w.ctx.Err(); err != nil {
			w.status.End = "interrupted"
			return context.Cause(w.ctx)
		}
		if w.status.End = w.end(); w.status.End != "" {
			return nil
		}
		if w.uploads() {
			w.since = time.Now()
			continue
		}
		e, soon, err := w.next()
		switch {
		case err != nil && moved(w.dir):
			continue // end says so
		case err != nil:
			w.status.End = err.Error()
			return err
		case e != nil:
			if w.status.End = full(w.dir.Name()); w.status.End != "" && !moved(w.dir) {
				return nil
			}
			w.begin(e)
			w.since = time.Now()
			continue
		case soon:
			w.since = time.Now()
		case w.o.Refill != nil && w.meanwhile(w.o.Refill, w.asked):
			continue
		case len(w.builds) > 0:
			select {
			case b := <-w.built:
				w.finish(b)
			case <-time.After(lookEvery):
			}
			w.since = time.Now()
			continue
		case w.o.Once:
			w.status.End = endIdle
			return nil
		case time.Since(w.since) > w.o.Idle:
			w.age()
			w.status.End = endIdle
			return nil
		}
		_ = sleep(w.ctx, lookEvery)
	}
}

// end says why the worker must end, "" if it need not.
func (w *worker) end() string {
	switch {
	case moved(w.dir):
		return "its cache was removed"
	case w.asked():
		return endAsked
	case w.status.CPU > w.o.Budget:
		return "its budget of processor time is spent"
	}
	return ""
}

// asked reports whether somebody wants the worker to end.
func (w *worker) asked() bool {
	_, at, err := w.o.Store.ReadNote(disk.StopNote)
	return err == nil && !at.Before(w.begun)
}

// next returns the oldest job that is to be done now, nil for none; soon says that
// there will be one.
func (w *worker) next() (e *spool.Entry, soon bool, err error) {
	jobs, err := spool.List(w.ctx, w.o.Store)
	if err != nil {
		return nil, false, err
	}
	w.status.count(jobs)
	for i := range jobs {
		e := &jobs[i]
		if _, being := w.builds[e.Name]; being || w.tried[e.Environment+e.Name] || e.Kind() == spool.Upload {
			continue
		}
		// A time in the future is another clock's.
		if age := time.Since(e.Changed); age >= 0 && age < w.quiet(e, age) && time.Since(e.Added) < maxQuiet {
			soon = true
			continue
		}
		return e, false, nil
	}
	return nil, soon, nil
}

// quiet is how long a job of such an age waits for more.
func (w *worker) quiet(e *spool.Entry, age time.Duration) time.Duration {
	longer := unlaunchedFactor * w.o.Quiet
	if age >= w.o.Quiet && age < longer {
		if j, err := spool.Read(w.ctx, w.o.Store, e); err == nil && j.Kind == spool.Capture && len(j.Variants) == 0 {
			return longer
		}
	}
	return w.o.Quiet
}

func (w *worker) more() bool {
	e, soon, err := w.next()
	return err == nil && (e != nil || soon || w.mayUpload() && w.uploadsWait())
}

// built is a job that a builder has ended with.
type built struct {
	e     *spool.Entry
	j     *spool.Job
	tries spool.Tries
	begin time.Time
	r     result
}

// begin has a job done, or decides that it will not be done.
func (w *worker) begin(e *spool.Entry) {
	ctx, s := w.ctx, w.o.Store
	begin := time.Now()
	j := w.read(e, begin)
	if j == nil {
		return
	}
	tries := spool.ReadTries(ctx, s, e)
	switch since, missing := tries.MissingSince(w.host); {
	case tries.Failed >= maxFailed:
		w.refuse(e, j, begin, "its compiler crashed, or took too long, twice")
		return
	case tries.Begun >= maxBegun:
		w.refuse(e, j, begin, fmt.Sprintf("it was begun %d times, and never done", tries.Begun))
		return
	case missing && !w.o.Once && time.Since(since).Abs() < missingFor:
		w.keep(e)
		return
	}
	tries.Begun++
	if err := spool.WriteTries(ctx, s, e, tries); err != nil {
		w.leave(e) // it would be tried for ever
		return
	}
	w.builds[e.Name] = begin
	w.status.Building, w.status.Since = e.Name, begin
	w.tell()
	go func() { w.built <- built{e, j, tries, begin, w.build(e, j)} }()
}

// finish does what is to be done when a builder has ended.
func (w *worker) finish(b built) {
	e, j, tries, begin, r := b.e, b.j, b.tries, b.begin, b.r
	ctx, s := w.ctx, w.o.Store
	delete(w.builds, e.Name)
	w.status.Building, w.status.Since = "", time.Time{}
	for name, since := range w.builds {
		if since.After(w.status.Since) {
			w.status.Building, w.status.Since = name, since
		}
	}
	w.status.CPU += r.cpu
	switch {
	case r.interrupted, moved(w.dir):
		return // the job stays as it is; that of a cache that was removed went with it
	case r.crash != "", r.outcome.State == spool.JobFailed:
		reason := cmp.Or(r.crash, r.outcome.Reason)
		if tries.Failed++; tries.Failed >= maxFailed {
			w.refuse(e, j, begin, "twice: "+reason)
			return
		}
		_ = spool.WriteTries(ctx, s, e, tries)
		if r.crash == "" { // what is the matter may not be, later
			w.keep(e)
		}
		w.ended(e, begin, spool.JobFailed, reason)
	case r.outcome.State == spool.JobVoid:
		w.remove(e)
		w.ended(e, begin, spool.JobVoid, r.outcome.Reason)
	case r.outcome.State == spool.JobStored, r.outcome.State == spool.JobThere:
		w.removed(e, spool.Left(w.ctx, w.o.Store, e, j, r.outcome.Left))
		if r.outcome.State == spool.JobStored {
			w.share(j)
		}
		w.status.Done++
		w.o.Recorder.Add(stats.JobsDone, 1)
		w.ended(e, begin, r.outcome.State, r.outcome.Reason)
	case r.outcome.State == spool.JobElsewhere:
		if r.outcome.Missing {
			tries.Missing(w.host, begin)
		}
		if r.full {
			tries.Begun--
		}
		if r.outcome.Missing || r.full {
			_ = spool.WriteTries(ctx, s, e, tries)
		}
		w.keep(e)
		w.ended(e, begin, r.outcome.State, r.outcome.Reason)
	default:
		w.refuse(e, j, begin, r.outcome.Reason)
	}
}

// leave keeps a job that this worker does not try again.
func (w *worker) leave(e *spool.Entry) { w.tried[e.Environment+e.Name] = true }

// keep leaves a job that cannot be done here, or not now.
func (w *worker) keep(e *spool.Entry) {
	w.status.Kept++
	w.leave(e)
}

// remove takes a job out of the spool; launches that were added meanwhile keep it.
func (w *worker) remove(e *spool.Entry) { w.removed(e, spool.Remove(w.ctx, w.o.Store, e)) }

func (w *worker) removed(e *spool.Entry, err error) {
	if err != nil {
		w.o.Trace.Warn("job not removed", "job", e.Name, "reason", err)
		w.leave(e)
	}
}

// refuse drops a job, and those that are equal for a while.
func (w *worker) refuse(e *spool.Entry, j *spool.Job, begin time.Time, reason string) {
	w.removed(e, spool.Refuse(w.ctx, w.o.Store, e, j, reason))
	w.refused(e, begin, reason)
}

func (w *worker) refused(e *spool.Entry, begin time.Time, reason string) {
	w.status.Refused++
	w.o.Recorder.Add(stats.JobsRefused, 1)
	w.ended(e, begin, spool.JobRefused, reason)
}

// maxReason bounds a reason, which may be what a compiler printed: those of maxLast jobs
// fit into a note, each byte written as six.
const maxReason = 2 << 10

func (w *worker) ended(e *spool.Entry, begin time.Time, state spool.JobState, reason string) {
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
	}
	w.o.Trace.Info("job ended", "job", e.Name, "state", state, "reason", reason, "took", time.Since(begin))
	end := Ended{Job: e.Name, State: string(state), Reason: reason, At: time.Now(), Took: time.Since(begin)}
	w.status.Last = slices.Insert(w.status.Last, 0, end)
	w.status.Last = w.status.Last[:min(len(w.status.Last), maxLast)]
	if jobs, err := spool.List(w.ctx, w.o.Store); err == nil {
		w.status.count(jobs)
	}
	w.tell()
}

// tell writes how the worker is, for those who ask.
func (w *worker) tell() {
	st := w.status
	st.Last = slices.Clone(st.Last)
	w.o.Progress(st)
	b, err := json.Marshal(st)
	if err == nil {
		err = w.o.Store.PutNote(context.WithoutCancel(w.ctx), disk.WorkerNote, b)
	}
	if err != nil {
		w.o.Trace.Debug("status not written", "reason", err)
	}
}

// moved reports whether a directory in which builders work is no longer where it was. It is
// held open, so that no other has its number. Who removes a cache removes it too, while the
// lock is still held, on a file that nobody finds any more: what is at the path by then is
// another cache, which may have a worker of its own.
func moved(dir *os.Root) bool {
	held, err := dir.Stat(".")
	if err != nil {
		return true
	}
	now, err := os.Lstat(dir.Name())
	return err != nil || !os.SameFile(held, now)
}

// empty removes all that is in a directory.
func empty(dir *os.Root) {
	names, _ := fs.ReadDir(dir.FS(), ".")
	for _, n := range names {
		_ = dir.RemoveAll(n.Name())
	}
}
