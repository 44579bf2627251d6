// Package jobs runs the worker of a cache, waits for it, stops it, and says what it does.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/frameworks"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/node"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/remotes"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
)

// Status says what a worker does, and what it did.
func Status(ctx context.Context, c cli.Cache) error {
	st, err := worker.Ask(ctx, c.Disk)
	if err != nil {
		return err
	}
	return c.Report(st, true, func() { describe(c, st) })
}

// Kernels returns the names of the kernels that a job in the spool is built for; none where the job is not there, or its
// launches are not known. It reads the job.
func Kernels(ctx context.Context, d *disk.Store, job string) (names []string) {
	all, _ := spool.List(ctx, d) // what cannot be read is no job
	at := slices.IndexFunc(all, func(e spool.Entry) bool { return e.Name == job })
	if at < 0 {
		return nil
	}
	j, err := spool.Read(ctx, d, &all[at])
	if err != nil {
		return nil
	}
	for _, launch := range j.Variants {
		if name, _, ok := strings.Cut(launch, "/"); ok {
			names = append(names, name)
		}
	}
	return slices.Compact(names) // launches are sorted
}

// Wait waits, at most so long, until no job is left, or no worker runs. nice leaves builds the lowest priority.
func Wait(ctx context.Context, c cli.Cache, most time.Duration, nice bool) error {
	ctx, cancel := withTimeout(ctx, most)
	defer cancel()
	p := c.Progress()
	st, err := worker.Wait(ctx, c.Disk, worker.WaitOptions{
		Start: Starter(c.Disk, c.Settings, os.Environ()), Nice: nice,
		Progress: func(st worker.Status) { p.Say("%s", describeWorker(st)) },
	})
	p.Done()
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return c.Report(st, err == nil && st.Waiting == 0, func() { describe(c, st) })
}

// Starter returns what starts a worker in a process of its own, with an environment. It is
// nil where the settings want none.
func Starter(d *disk.Store, s *settings.Settings, environ []string) func() bool {
	self, err := os.Executable()
	if err != nil || !runtimes.Linked || s.Worker == settings.WorkerOff || !s.Writable() {
		return nil
	}
	starter := worker.NewStarter(worker.StartOptions{
		Jobs:    kernstash.Jobs{Store: d, Policy: settings.WorkerAuto, Settings: s.Variables(s.Workers()...)},
		Environ: environ, Command: self,
	})
	return func() bool { return starter.StartNow() == nil }
}

// Stop has the worker end, and waits for that, at most so long.
func Stop(ctx context.Context, c cli.Cache, most time.Duration) error {
	ctx, cancel := withTimeout(ctx, most)
	defer cancel()
	was, err := worker.Stop(ctx, c.Disk)
	if err != nil {
		return err
	}
	text := "no worker runs"
	if was {
		text = "the worker ended"
	}
	return c.Report(map[string]bool{"stopped": was}, true, func() { c.Printf("%s\n", text) })
}

func withTimeout(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	if most <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, most)
}

// RunOptions say how Run works.
type RunOptions struct {
	worker.Options
	Quiet   bool
	Rebuild *worker.Rebuilds           // what an earlier driver built, which is built anew; may be nil
	Doing   func(worker.Status) string // says what is being done, "" for nothing; nil: the job and how many wait
	Report  func(worker.Status) error  // says how it ended; nil: as Status does
}

// Rebuilds returns what an earlier driver or compiler built for the devices here, for an application; "": for all. The
// caller closes it.
func Rebuilds(ctx context.Context, c cli.Cache, app string, counts *stats.Counters) (*worker.Rebuilds, error) {
	o := worker.RebuildOptions{Store: c.Disk, Environ: os.Environ(), Recorder: counts}
	if app != "" {
		keys, err := ledger.Keys(ctx, c, app)
		if err == nil && len(keys) == 0 {
			err = fmt.Errorf("%s is not known to have used anything; 'kernstash du' names the applications that are", app)
		}
		if err != nil {
			return nil, err
		}
		used := make(map[key.Digest]bool, len(keys))
		for _, k := range keys {
			used[k.Sum] = true
		}
		o.Only = func(k key.Key) bool { return used[k.Sum] }
	}
	var err error
	if o.Devices, err = runtimes.Built(ctx); err != nil {
		return nil, fmt.Errorf("which devices are here: %w", err)
	}
	return worker.NewRebuilds(o), nil
}

// Run is the worker. It keeps what counts gets.
func Run(ctx context.Context, c cli.Cache, run RunOptions, counts *stats.Counters) error {
	o, quiet := run.Options, run.Quiet
	d, s := c.Disk, c.Settings
	if !s.Writable() {
		return fmt.Errorf("worker: the settings keep the cache from being written: disable=%v, persistent=%v, mode=%s", s.Disable, s.Persistent, s.Mode)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o.Store, o.MaxAge = d, s.Threshold
	o.Command = worker.BuilderCommand(self, d, []string{fmt.Sprint("max-size=", s.MaxSize), "eviction=" + s.Eviction})
	o.Recorder = counts
	var kept stats.Snapshot
	o.Keep = func(held *disk.Store) {
		now := counts.Snapshot()
		_ = held.AddStats(now.Sub(kept))
		kept = now
	}
	// Credentials stay in this process: builders have none of its variables.
	if o.Upload = node.Uploader(s, d); o.Upload == nil && len(s.Remote) > 0 {
		chain, err := remotes.Open(s, counts)
		if err != nil { // jobs wait for a worker that can
			fmt.Fprintf(c.Err, "kernstash: nothing is uploaded: %v\n", err)
		} else {
			defer chain.Close()
			o.Upload = remotes.Uploader(chain, d)
		}
	}
	if run.Rebuild != nil {
		o.Refill = run.Rebuild.Next
	}
	p := c.Progress()
	if quiet {
		p = nil
	}
	building, doing := "", run.Doing
	if doing == nil {
		doing = describeWorker
	}
	o.Progress = func(st worker.Status) {
		if st.Building != building {
			building = st.Building
			if text := doing(st); text != "" {
				p.Say("%s", text)
			}
		}
	}
	st, err := worker.Run(ctx, o)
	for errors.Is(err, store.ErrLocked) && o.Once {
		p.Say("waiting for the worker that runs")
		if _, err = worker.Wait(ctx, d, worker.WaitOptions{Nice: !o.NormalPriority}); err == nil {
			st, err = worker.Run(ctx, o)
		}
	}
	p.Done()
	if err == nil && ctx.Err() == nil {
		_, _ = frameworks.Trim(ctx, s.Dir, frameworks.Limits{MaxSize: s.FrameworksMaxSize, MaxAge: s.Threshold}, time.Now()) // the next one does what is left
	}
	_ = ledger.Merge(ctx, d) // or the next one does
	switch {
	case errors.Is(err, store.ErrLocked):
		if !quiet {
			c.Printf("a worker runs already\n")
		}
		return nil
	case err != nil:
		return fmt.Errorf("worker: %w", err)
	case quiet:
		return nil
	}
	st.Running = false
	st.Last = slices.DeleteFunc(st.Last, func(e worker.Ended) bool { return e.At.Before(st.Started) })
	st.GivenUp = nil // those of this run are among the last
	if run.Report != nil {
		return run.Report(st)
	}
	return c.Report(st, true, func() { describe(c, st) })
}

// describeWorker is a line about a worker that works.
func describeWorker(st worker.Status) string {
	does := "no worker runs"
	switch {
	case st.Building != "":
		does = "building " + st.Building
	case st.Running:
		does = "a worker runs"
	}
	return does + ", " + human.Plural(st.Waiting, "job")
}

// describe says for people how a worker is.
func describe(c cli.Cache, st worker.Status) { c.Fold(func() { writeStatus(c, st) }) }

func writeStatus(c cli.Cache, st worker.Status) {
	switch {
	case st.Running && st.Started.IsZero(): // it says so a moment after it has begun
		c.Printf("a worker runs\n")
	case st.Running && st.Building != "":
		building := st.Building
		if kernels := Kernels(context.Background(), c.Disk, building); len(kernels) > 0 {
			building = human.Printable(human.Names(kernels, 0), false) + ", job " + building
		}
		c.Printf("a worker runs, since %s, and builds %s\n", st.Started.Local().Format(time.DateTime), building)
	case st.Running:
		c.Printf("a worker runs, since %s\n", st.Started.Local().Format(time.DateTime))
	case st.Started.IsZero():
		c.Printf("no worker runs, and none has\n")
	case st.End == "":
		c.Printf("no worker runs; the last one was ended\n")
	default:
		c.Printf("no worker runs; the last one ended: %s\n", human.Printable(st.End, false))
	}
	c.Printf("%s waiting", human.Plural(st.Waiting, "job"))
	if !st.Started.IsZero() {
		c.Printf("; %d done, %d dropped, %d not possible here, %s of processor time", st.Done, st.Refused, st.Kept, human.Time(st.CPU))
	}
	c.Printf(", in %s\n", human.Printable(c.Settings.Dir, false))
	if st.Uploads > 0 && len(c.Settings.Remote) == 0 && node.Uploader(c.Settings, c.Disk) == nil {
		c.Printf("to be uploaded: %d, and no remote is set here: set KERNSTASH_REMOTE (setting remote), or run an agent\n", st.Uploads)
	}
	if len(st.GivenUp) > 0 {
		c.Printf("given up, for two weeks or until 'kernstash clear':\n")
	}
	line := func(at time.Time, state, job, reason string) {
		text := strings.TrimSuffix(job+": "+strings.TrimSpace(human.Printable(reason, false)), ": ")
		c.Printf("  %s  %-9s %s\n", clock(at, time.Now()), state, text)
	}
	for _, g := range st.GivenUp {
		line(g.At, "given up", g.Job, g.Reason)
	}
	if len(st.GivenUp) > 0 && len(st.Last) > 0 {
		c.Printf("the last ones:\n")
	}
	for _, e := range st.Last {
		line(e.At, e.State, e.Job, e.Reason)
	}
}

// clock is a time of today as that, and any other with its date.
func clock(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.Year() == now.Year() && at.YearDay() == now.YearDay() {
		return at.Format(time.TimeOnly)
	}
	return at.Format(time.DateTime)
}
