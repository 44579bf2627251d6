package worker

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// Options say how a worker works. Store and Command are required.
type Options struct {
	Store *disk.Store

	// Command is the program that does one job, with its arguments: it calls
	// build.Main, for the same root.
	Command []string

	// Environ is the environment of the worker, as os.Environ returns it; nil
	// means this process's. Of it a builder gets what no compiler obeys: its
	// home, its languages. The rest is the job's.
	Environ []string

	// Quiet is how long a job must have been as it is: an application that has
	// launched a kernel for the first time may be about to launch more, and all of it
	// is built at once. 0: 2 s; with Once nothing is waited for.
	Quiet time.Duration

	Once   bool          // end when all jobs were tried, instead of waiting for more
	Idle   time.Duration // end when there was nothing to do for so long; 0: 3 s
	Limit  time.Duration // a build that takes longer is ended; 0: 10 min
	Budget time.Duration // end when builds took so much processor time; 0: 1 h

	// MaxAge is how long entries are kept that nobody uses; 0: however old. A worker
	// that waits for more jobs removes older ones, once a day for a root.
	MaxAge time.Duration

	Jobs int // how many builds there are at once; 0: 1

	// NormalPriority makes builds at the priority of this process instead of
	// when nobody else wants the processor. So does a caller of Wait, while it waits.
	NormalPriority bool

	// Refill, which may be nil, is asked for more where there is no job: it adds one, or
	// says that it has none. It is called at the priority of builds.
	Refill func(context.Context) bool

	// Upload puts the entry of a key where other machines find it. It is called by several
	// goroutines. spool.JobElsewhere says that no remote can be reached, or written. nil: jobs
	// of that kind wait for another worker.
	Upload func(context.Context, key.Key) spool.Outcome

	Recorder stats.Recorder // counts; nil for none

	// Keep, which may be nil, is called when the worker ends, and before another may begin:
	// with the cache that it worked on, of which nothing is made anew if it was removed. What
	// was counted is kept there. It may be called more than once.
	Keep func(*disk.Store)

	Trace    *slog.Logger // a line for what becomes of each job; may be nil
	Progress func(Status) // called when something changed; may be nil
}

func (o *Options) fill() {
	o.Idle = cmp.Or(o.Idle, 3*time.Second)
	o.Quiet = cmp.Or(o.Quiet, 2*time.Second)
	if o.Once {
		o.Quiet = 0
	}
	o.Jobs = max(o.Jobs, 1)
	o.Limit = cmp.Or(o.Limit, 10*time.Minute)
	o.Budget = cmp.Or(o.Budget, time.Hour)
	o.Recorder = cmp.Or[stats.Recorder](o.Recorder, stats.Noop{})
	o.Trace = cmp.Or(o.Trace, slog.New(slog.DiscardHandler))
	if o.Keep == nil {
		o.Keep = func(*disk.Store) {}
	}
	if o.Progress == nil {
		o.Progress = func(Status) {}
	}
}
