package remotes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/bundles"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
)

// GCOptions say what `remote gc` removes: what all of them ask for.
type GCOptions struct {
	Selection
	OlderThan time.Duration // written longer ago; 0: of any age
	Bad       bool          // that cannot hit: damaged, or not signed by a key that counts
	Versions  bool          // of other versions of kernstash
	All       bool          // everything of the tenant
	Yes       bool          // nobody is asked
}

// check refuses what asks for nothing, or for what cannot be both.
func (o *GCOptions) check() error {
	kinds := 0
	for _, is := range []bool{len(o.Filters) > 0, o.Bad, o.Versions, o.All} {
		if is {
			kinds++
		}
	}
	switch {
	case o.OlderThan < 0:
		return cli.Usagef("--older-than %v: it is negative", o.OlderThan)
	case kinds > 1:
		return cli.Usagef("remote gc: --filter and its like, --bad, --other-versions and --all go one at a time")
	case kinds == 0 && o.OlderThan == 0:
		return cli.Usagef("remote gc: what is to go? --older-than, --filter, --bad, --other-versions or --all say so")
	}
	return nil
}

// collected is what `remote gc --json` writes: a line for each remote.
type collected struct {
	Remote  string `json:"remote"`
	Tenant  string `json:"tenant"`
	Objects int64  `json:"objects"` // that were looked at
	Removed int64  `json:"removed"` // with --dry-run: that would be
	Bytes   int64  `json:"bytes"`   // of those
	DryRun  bool   `json:"dry_run,omitempty"`
}

// GC removes objects of the tenant from the remotes. It asks first.
func GC(ctx context.Context, a *cli.App, o GCOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	wanted, err := bundles.Filter(o.Filters)
	if err != nil {
		return err
	}
	return within(a, o.Remote, func(c *Chain) error { return c.gc(ctx, a, o, wanted) })
}

func (c *Chain) gc(ctx context.Context, a *cli.App, o GCOptions, wanted func(store.Info) bool) error {
	if err := c.Trust.Err(); err != nil && o.Bad {
		return fmt.Errorf("--bad: all would be bad, as nothing is trusted: %w", err)
	}
	report := []collected{}
	var failed error
	for _, t := range c.Tiers {
		r := collected{Remote: t.Name, Tenant: c.Tenant, DryRun: o.DryRun}
		agreed := true
		agreed, failed = c.collect(ctx, a, t, o, wanted, &r)
		if agreed && (failed == nil || r.Removed > 0) {
			report = append(report, r)
		}
		if failed != nil {
			break
		}
	}
	return reported(a, report, true, failed, func() {
		for _, r := range report {
			verb := "removed"
			if r.DryRun {
				verb = "would remove"
			}
			a.Printf("%s: %s %s of %d, %s, of tenant %s\n", human.Printable(r.Remote, false), verb,
				human.Plural(r.Removed, "object"), r.Objects, human.Size(r.Bytes), r.Tenant)
		}
	})
}

// collect removes objects from one remote, if whoever is asked agrees. What r says has been removed, whatever the
// error.
func (c *Chain) collect(
	ctx context.Context, a *cli.App, t Tier, o GCOptions, wanted func(store.Info) bool, r *collected,
) (agreed bool, err error) {
	if err := c.reach(ctx, t); err != nil {
		return true, err
	}
	p := a.Progress()
	defer p.Done()
	goes, err := c.selected(ctx, t, o, wanted, r, p.Counting("looked at", 0))
	p.Done()
	would := *r
	r.Removed, r.Bytes = 0, 0
	switch {
	case err != nil:
		return true, named(t, err)
	case o.DryRun:
		*r = would
		return true, nil
	case !o.Yes && len(goes) > 0:
		if agreed, err := entries.Ask(ctx, a, fmt.Sprintf("remove %s, %s, of tenant %s from %s?",
			human.Plural(len(goes), "object"), human.Size(would.Bytes), c.Tenant, t.Name)); err != nil || !agreed {
			return false, err
		}
	}
	return true, named(t, remove(ctx, t, goes, r, p.Counting("removed", int64(len(goes)))))
}

// selected returns the objects that go.
func (c *Chain) selected(
	ctx context.Context, t Tier, o GCOptions, wanted func(store.Info) bool, r *collected, progress func(int64),
) (goes []remote.Object, err error) {
	now := time.Now()
	old := func(at time.Time) bool { return o.OlderThan == 0 || !at.IsZero() && now.Sub(at) > o.OlderThan }
	take := func(name string, size int64) {
		goes = append(goes, remote.Object{Name: name, Size: size})
		r.Removed++
		r.Bytes += size
	}
	look := func() {
		r.Objects++
		progress(r.Objects)
	}
	if o.Versions {
		for other, err := range t.Objects.List(ctx, "v") {
			if err != nil {
				return nil, err
			}
			// v<number>/<tenant>/…
			layout, rest, _ := strings.Cut(other.Name, "/")
			if tenant, _, _ := strings.Cut(rest, "/"); tenant != c.Tenant || layout == c.layout() {
				continue
			}
			if look(); old(other.Modified) {
				take(other.Name, other.Size)
			}
		}
	}
	if len(o.Filters) == 0 && !o.Bad && !o.Versions {
		whole, err := c.byAge(ctx, t, o.OlderThan > 0, old, take, look)
		if whole || err != nil {
			return goes, err
		}
		goes, *r = nil, collected{Remote: r.Remote, Tenant: r.Tenant, DryRun: r.DryRun} // the remote tells no times
	}
	for d, err := range t.Store.Describe(ctx) {
		if err != nil {
			return nil, err
		}
		if look(); o.goes(d, wanted) && old(d.Written) {
			take(d.Location, d.Size)
		}
	}
	return goes, nil
}

// byAge looks at all objects of the tenant, lists of header files included, without reading them. It
// reports whether that was possible.
func (c *Chain) byAge(
	ctx context.Context, t Tier, timed bool, old func(time.Time) bool, take func(string, int64), look func(),
) (whole bool, err error) {
	for o, err := range t.Objects.List(ctx, t.Store.Prefix()) {
		if err != nil {
			return false, err
		}
		if timed && o.Modified.IsZero() {
			return false, nil
		}
		if look(); old(o.Modified) {
			take(o.Name, o.Size)
		}
	}
	return true, nil
}

// goes reports whether an entry is one of those that are meant, whatever its age.
func (o *GCOptions) goes(d remote.Description, wanted func(store.Info) bool) bool {
	var miss *store.MissError
	version := errors.As(d.Bad, &miss) && miss.Reason == reason.MissVersion
	// What could not be read is not known to be bad, nor is what others read, who have a larger max-size.
	unread := miss != nil && miss.Reason == reason.MissRemote || errors.Is(d.Bad, remote.ErrTooLarge)
	switch {
	case o.Versions:
		return version
	case o.Bad:
		return d.Bad != nil && !version && !unread
	case len(o.Filters) > 0:
		return d.Bad == nil && wanted(d.Info)
	}
	return true
}

const removesAtOnce = 16

// remove deletes objects, and counts them. The first that cannot be ends it.
func remove(ctx context.Context, t Tier, goes []remote.Object, r *collected, progress func(int64)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var wg sync.WaitGroup
	turns := make(chan struct{}, removesAtOnce)
	for _, o := range goes {
		turns <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-turns }()
			call, end := context.WithTimeout(ctx, putTimeout)
			defer end()
			if err := t.Objects.Delete(call, o.Name); err != nil {
				cancel(errors.New(said(err)))
				return
			}
			mu.Lock()
			defer mu.Unlock()
			r.Removed++
			r.Bytes += o.Size
			progress(r.Removed)
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
