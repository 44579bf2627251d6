package launch

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/jobs"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk"
)

// explain replaces the reason of programs that were compiled because the worker, whose
// work they are, has not done it. begun is when the run began: what was left to the
// worker since is no reason for it.
func explain(s *runlog.Summary, root string, begun time.Time) {
	d := disk.New(disk.Options{Dir: root, ReadOnly: true})
	defer d.Close()
	why := jobs.Unbuilt(context.Background(), d, begun)
	for i := range s.Programs {
		p := &s.Programs[i]
		if text := why[p.Key]; text != "" && p.Outcome == runlog.Compiled && p.Reason == reason.MissAbsent.String() {
			recount(s, cmp.Or(p.Nearest, p.Reason), text, p.Requests)
			p.Nearest = text
		}
	}
}

// recount moves n programs from one reason to another.
func recount(s *runlog.Summary, from, to string, n int) {
	for _, move := range []runlog.Count{{What: from, N: -n}, {What: to, N: n}} {
		i := slices.IndexFunc(s.Compiles, func(c runlog.Count) bool { return c.What == move.What })
		if i < 0 {
			i, s.Compiles = len(s.Compiles), append(s.Compiles, runlog.Count{What: move.What})
		}
		s.Compiles[i].N += move.N
	}
	s.Compiles = slices.DeleteFunc(s.Compiles, func(c runlog.Count) bool { return c.N <= 0 })
	slices.SortFunc(s.Compiles, func(a, b runlog.Count) int { return cmp.Or(b.N-a.N, cmp.Compare(a.What, b.What)) })
}

// startWorker starts a worker if jobs are left. Whoever leaves a job does so too, off the
// application's path: an application that ends in the next milliseconds has not come to it.
func (r *runner) startWorker() {
	if r.outcome.Jobs+r.outcome.Outcomes.Compiled == 0 {
		return // nothing was left; what waits may wait for another machine
	}
	d := disk.New(disk.Options{Dir: r.settings.Dir})
	defer d.Close()
	start := r.workerStarter(d)
	if start == nil {
		return
	}
	if waiting, _ := spool.List(context.Background(), d); len(waiting) > 0 {
		start() // what becomes of it is nobody's concern: jobs wait
	}
}

// workerStarter returns what starts a worker with the environment of before the run, nil where none is
// wanted.
func (r *runner) workerStarter(d *disk.Store) func() bool {
	return jobs.Starter(d, r.settings, slices.DeleteFunc(slices.Clone(r.env), func(kv string) bool {
		return strings.HasPrefix(kv, InjectVariable+"=") || strings.HasPrefix(kv, runlog.Variable+"=")
	}))
}
