package kernstash

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// Found is a stored artifact of a request for one group of equal devices.
type Found struct {
	Job      Job
	Artifact *store.Artifact
}

// Glance returns what the stores have of a request, one artifact for each group
// of equal devices, if they have all of them and it can be told without waiting
// for anything but the disk: none for images that read header files which are not
// known, or not what they were, and in the modes that serve nothing. It makes no
// programs and counts no hits; who restores them says so with Restored. With none,
// ask with Program.
func (x *Context[P, K]) Glance(ctx context.Context, r Request) []Found {
	return x.glance(ctx, r, false)
}

// GlanceFirst is Glance for who restores from the first binary of an artifact: the
// others may be left unread, as its Rest, for which there is [Context.Rest].
func (x *Context[P, K]) GlanceFirst(ctx context.Context, r Request) []Found {
	return x.glance(ctx, r, true)
}

// Rest returns the binaries that GlanceFirst left unread in what it found, in their
// order, in memory of the caller's. They may be gone by now, or replaced: then the
// error wraps [store.ErrNotFound]. Of what was found it needs the key, and the artifact's
// Rest.
func (x *Context[P, K]) Rest(ctx context.Context, f Found) (rest []store.Binary, err error) {
	if len(f.Artifact.Rest) == 0 {
		return nil, nil
	}
	if !x.tier.Enter() {
		return nil, ErrClosed
	}
	defer x.tier.Leave()
	err = store.ErrNotFound
	for _, s := range x.cache.stores {
		p, ok := s.(store.PartGetter)
		if !ok {
			continue
		}
		if rest, err = p.GetRest(ctx, f.Job.Key, f.Artifact); err == nil {
			return rest, nil
		}
	}
	return nil, fmt.Errorf("read the rest of an artifact: %w", err)
}

func (x *Context[P, K]) glance(ctx context.Context, r Request, first bool) []Found {
	c := x.cache
	get := func(s store.Store, ctx context.Context, k key.Key) (*store.Entry, error) {
		if p, ok := s.(store.PartGetter); ok {
			return p.GetPart(ctx, k, store.GetOptions{FirstBinary: first, Again: true})
		}
		return s.Get(ctx, k)
	}
	if c.settings.Mode != settings.ModeOn && c.settings.Mode != settings.ModeReadOnly {
		return nil
	}
	id, err := r.id(x.rt.Devices())
	if err != nil || !x.tier.Enter() {
		return nil
	}
	defer x.tier.Leave()
	var res *resolution
	if r.Image.files != nil {
		if res, err = x.resolveNow(id, r, true); res == nil || err != nil {
			return nil
		}
	}
	var all []Found
	for i, devices := range x.groups(id.Devices) {
		recipe, against, err := x.recipe(devices, r, res.group(i))
		if err != nil || !against.None() {
			return nil
		}
		job := Job{Devices: devices, Recipe: recipe, Key: recipe.Key()}
		entry, _, _ := c.findBy(ctx, job.Key, get)
		if entry == nil {
			return nil
		}
		all = append(all, Found{job, entry.Artifact})
	}
	return all
}

// Restored counts a program that was made of an artifact that Glance returned, and
// tells who wants to be told. took is the time from the one to the other.
func (x *Context[P, K]) Restored(f Found, took time.Duration) {
	c, a := x.cache, f.Artifact
	defer c.keepStatsNowAndThen()
	x.count(stats.MemoryMisses)
	x.count(stats.DiskHits)
	c.stats.Add(stats.LoadTime, int64(took))
	c.stats.Add(stats.SavedTime, int64(a.Cost-took))
	c.traceKey(f.Job.Key, f.Job.Recipe)
	on(c.trace.disk, func(l *slog.Logger) {
		l.Debug("hit", "key", f.Job.Key.Short(), "bytes", a.Size(), "load", took, "saved", a.Cost-took)
	})
	if tell := x.options.Decided; tell != nil {
		tell(Decision{
			Key: f.Job.Key, Devices: f.Job.Devices, Size: f.Job.Recipe.Image.Size(),
			Origin: Disk, Spent: took, Saved: a.Cost - took, Bytes: a.Size(), Kernels: kernelNames(a),
		})
	}
}
