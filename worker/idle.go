package worker

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/disk/evict"
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

// maxRebuilds bounds the entries that a Rebuilds remembers: the most valuable ones. The
// next one finds the others.
const maxRebuilds = 4096

// Rebuilds makes jobs of what was built by another driver or compiler for a device that
// is here, so that it need not be compiled by the application that asks for it first. It
// is for one goroutine.
type Rebuilds struct {
	o     RebuildOptions
	old   *disk.Store // of the same root, and nothing that is read counts as used
	found bool
	left  []Cold // the most valuable one first
}

// Cold is what an earlier driver or compiler built for a device that is here, and the present one did not.
type Cold struct {
	Entry  store.Info  // of the earlier one
	Device *key.Device // as it is now
	Key    key.Key     // under which it will be; All sets it
	value  float64
}

// RebuildOptions say what is rebuilt. Store and Devices are required.
type RebuildOptions struct {
	Store    *disk.Store
	Devices  []key.Device       // the devices that are here, as they are now
	Only     func(key.Key) bool // which entries are looked at; nil: all
	Environ  []string           // the environment in which they are, as os.Environ returns it
	Recorder stats.Recorder
	Trace    *slog.Logger
}

// NewRebuilds returns what Next looks through.
func NewRebuilds(o RebuildOptions) *Rebuilds {
	o.Trace = cmp.Or(o.Trace, slog.New(slog.DiscardHandler))
	return &Rebuilds{o: o, old: disk.New(disk.Options{Dir: o.Store.Dir(), ReadOnly: true})}
}

// Close ends what was opened for it.
func (r *Rebuilds) Close() error { return r.old.Close() }

// Next adds the job that is worth most, by the time that it saves for its size and how
// lately its entry was used, and says whether there was one. The first call looks
// through all entries.
func (r *Rebuilds) Next(ctx context.Context) bool {
	if !r.found {
		r.found = true
		r.find(ctx)
	}
	for len(r.left) > 0 && ctx.Err() == nil {
		next := r.left[0]
		r.left = r.left[1:]
		added, err := r.add(ctx, next)
		if err != nil {
			r.o.Trace.Info("not built anew", "entry", next.Entry.Key.Short(), "reason", err.Error())
		}
		if added {
			return true
		}
	}
	return false
}

func (r *Rebuilds) find(ctx context.Context) {
	here := make(map[key.Digest]bool)
	for i := range r.o.Devices {
		here[r.o.Devices[i].Digest()] = true
	}
	now := time.Now()
	for info, err := range r.old.List(ctx) {
		if err != nil || info.Bad != nil || here[info.Device.Digest()] || r.o.Only != nil && !r.o.Only(info.Key) {
			continue
		}
		for i := range r.o.Devices {
			if d := &r.o.Devices[i]; sameDevice(&info.Device, d) {
				r.left = append(r.left, Cold{info, d, key.Key{}, evict.Worth(info.Cost, info.Size, now.Sub(info.Accessed))})
			}
		}
		if len(r.left) >= 2*maxRebuilds {
			r.rank()
		}
	}
	r.rank()
}

func (r *Rebuilds) rank() {
	slices.SortStableFunc(r.left, func(a, b Cold) int { return cmp.Compare(b.value, a.value) })
	r.left = r.left[:min(len(r.left), maxRebuilds)]
}

// sameDevice reports whether a driver may have called the same device this and that at
// different times: what a driver or compiler decides may differ.
func sameDevice(a, b *key.Device) bool {
	return a.API == b.API && a.Platform == b.Platform && strings.TrimSpace(a.Name) == strings.TrimSpace(b.Name)
}

// All returns what Next adds jobs of, the most valuable ones of it, and what of it could not be
// read. It builds nothing. Of a program that several earlier drivers have built only one counts.
func (r *Rebuilds) All(ctx context.Context) (all []Cold, unread int) {
	if !r.found {
		r.found = true
		r.find(ctx)
	}
	seen := make(map[key.Digest]bool)
	for _, c := range r.left {
		anew, err := r.anew(ctx, c)
		switch {
		case ctx.Err() != nil:
			return all, unread
		case err != nil:
			unread++
		case anew != nil:
			if c.Key = anew.Key(); !seen[c.Key.Sum] {
				seen[c.Key.Sum] = true
				all = append(all, c)
			}
		}
	}
	return all, unread
}

// anew returns the recipe of an entry for the device as it is now; nil: that has been built.
func (r *Rebuilds) anew(ctx context.Context, c Cold) (*key.Recipe, error) {
	recipe, err := r.old.Recipe(ctx, c.Entry.Key)
	if err != nil {
		return nil, err
	}
	anew := *recipe
	anew.Device = *c.Device
	if _, err := r.old.Get(ctx, anew.Key()); err == nil {
		return nil, nil
	}
	return &anew, nil
}

// add makes a job of an entry, if it has not been built anew yet.
func (r *Rebuilds) add(ctx context.Context, c Cold) (bool, error) {
	anew, err := r.anew(ctx, c)
	if anew == nil || err != nil {
		return false, err
	}
	e, err := r.old.Get(ctx, c.Entry.Key)
	if err != nil {
		return false, err
	}
	res, err := spool.Add(ctx, r.o.Store, spool.Job{
		Kind: spool.Rebuild, Recipe: anew, Variants: e.Artifact.Variants, Cost: e.Artifact.Cost,
		Environment: spool.Take(r.o.Environ, anew, ""),
	}, r.o.Recorder)
	return res.Waits(), err
}
