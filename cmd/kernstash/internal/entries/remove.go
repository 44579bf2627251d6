package entries

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/frameworks"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/trust"
)

// RemoveOptions are those of gc and clear.
type RemoveOptions struct {
	Filter
	SignedBy []string // of clear: fingerprints of keys, one of which signed an entry, which came from a remote
	DryRun   bool     // only list what would go
	Yes      bool     // of clear: do not ask
	Force    bool     // of clear: what is pinned, too
}

// sweepReport is what a sweep found, in the cache and in those of frameworks.
type sweepReport struct {
	disk.Report
	Pinned     int64              `json:"pinned,omitempty"` // of those that clear is asked for: that stay
	Shared     int64              `json:"shared,omitempty"` // of those removed for an application: that others used, too
	Listed     []EntryReport      `json:"listed,omitempty"` // of a dry run
	Frameworks []frameworks.Cache `json:"frameworks,omitempty"`

	filtered bool
}

// maxListed bounds the entries that the JSON of a dry run lists; the report counts all.
const maxListed = 10_000

// remover removes what is asked for.
type remover struct {
	*entryWriter
	o      RemoveOptions
	all    bool              // any entry may go
	kept   map[string]string // what is pinned, unless it may go
	pinned int64
	shared int64
	listed []EntryReport
	err    error
}

func newRemover(ctx context.Context, c cli.Cache, o RemoveOptions) (*remover, error) {
	w, err := newWriter(ctx, c, ListOptions{Filter: o.Filter, Sort: unordered}, o.App != "" || o.DryRun)
	return &remover{entryWriter: w, o: o, all: o.All() && len(o.SignedBy) == 0}, err
}

// goes reports whether an entry is asked for.
func (r *remover) goes(ctx context.Context, info store.Info) bool {
	if !r.wanted.match(info) || len(r.o.SignedBy) > 0 && !r.signed(ctx, info) {
		return false
	}
	if IsPinned(r.kept, info) {
		r.pinned++
		return false
	}
	if e := r.of(info); r.o.App != "" && slices.ContainsFunc(Apps(e), func(a AppReport) bool { return !r.wanted.app(a.App) }) {
		r.shared++
	}
	return true
}

// unknownApp reports whether one application is asked for that the records do not know.
func (r *remover) unknownApp() bool {
	if r.o.App == "" || hasWildcards(r.o.App) || r.book == nil {
		return false
	}
	names, err := r.book.Applications()
	return err == nil && !slices.Contains(names, r.o.App)
}

func (r *remover) signed(ctx context.Context, info store.Info) bool {
	head, err := r.Disk.Seal(ctx, info.Key)
	if err != nil || head == nil {
		return false
	}
	by, err := remote.Signer(head)
	return err == nil && slices.Contains(r.o.SignedBy, trust.Fingerprint(by))
}

// list lists an entry that would go.
func (r *remover) list(info store.Info) {
	switch {
	case !r.JSON:
		row, err := r.row(info, r.err)
		if err == nil {
			err = r.write(row)
		}
		r.err = err
	case len(r.listed) < maxListed:
		r.listed = append(r.listed, r.report(info))
	}
}

// sweep removes entries, and with them what frameworks keep, and says what was removed.
func (r *remover) sweep(
	verb string, do func(progress func(int64)) (disk.Report, error), trim func() ([]frameworks.Cache, error),
) error {
	removed := func(c cli.Cache, s sweepReport) string {
		text := removed(c, s)
		if s.Removed == 0 && s.Pinned == 0 && r.unknownApp() {
			text += ": " + human.Printable(r.o.App, false) + " is not known to have used anything"
		}
		return text
	}
	_, err := sweep(r.Cache, verb, removed, func(progress func(int64)) (out sweepReport, err error) {
		if r.o.DryRun {
			progress = nil // entries are listed meanwhile
		}
		out.Report, err = do(progress)
		out.Pinned, out.Shared, out.Listed, out.filtered = r.pinned, r.shared, r.listed, !r.all
		if err == nil && r.all {
			out.Frameworks, err = trim()
		}
		return out, cmp.Or(err, r.err)
	})
	return err
}

// removed says in a line what was removed.
func removed(c cli.Cache, r sweepReport) string {
	verb := "removed"
	if r.DryRun {
		verb = "would remove"
	}
	text := fmt.Sprintf("%s %s of %d, %s of %s, in %s", verb, human.Plural(r.Removed, "entry"), r.Entries,
		human.Size(r.RemovedBytes), human.Size(r.Bytes), human.Printable(c.Settings.Dir, false))
	switch {
	case r.filtered && r.Removed == 0:
		text += "; none that may go was asked for"
	case r.Shared > 0:
		text += fmt.Sprintf("; other applications used %d of them, too", r.Shared)
	}
	if r.Pinned > 0 {
		text += fmt.Sprintf("; %d pinned, which --force removes, too", r.Pinned)
	}
	return text
}

// GC removes what is old, damaged, or over the limit; with a filter only entries of it, and none for the limit.
func GC(ctx context.Context, c cli.Cache, o RemoveOptions) error {
	r, err := newRemover(ctx, c, o)
	if err != nil {
		return err
	}
	defer r.closeBook()
	gc := disk.GCOptions{
		DryRun: o.DryRun, MaxAge: c.Settings.Threshold, Older: 24 * time.Hour, Goes: r.list, // older versions may use the cache as well
	}
	if !r.all {
		gc.Only = func(info store.Info) bool { return r.goes(ctx, info) }
	}
	limits := frameworks.Limits{MaxSize: c.Settings.FrameworksMaxSize, MaxAge: gc.MaxAge, DryRun: o.DryRun}
	// The list of a million images is most of the memory: no garbage of the same size beside it.
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	return r.sweep("looked at",
		func(progress func(int64)) (disk.Report, error) { return c.Disk.GC(ctx, gc, progress) },
		func() ([]frameworks.Cache, error) { return frameworks.Trim(ctx, c.Settings.Dir, limits, time.Now()) })
}

// Clear removes the entries that are asked for; where that is all, what frameworks keep, too. Unless Yes is set it says what
// would go, and asks.
func Clear(ctx context.Context, c cli.Cache, o RemoveOptions) error {
	r, err := newRemover(ctx, c, o)
	if err != nil {
		return err
	}
	defer r.closeBook()
	if !o.Force {
		if r.kept, err = c.Disk.Pins(ctx); err != nil {
			return err
		}
	}
	goes := func(info store.Info) bool { return r.goes(ctx, info) }
	remove := c.Disk.Clear
	switch {
	case o.DryRun:
		remove = c.Disk.WouldClear
		goes = func(info store.Info) bool {
			is := r.goes(ctx, info)
			if is {
				r.list(info)
			}
			return is
		}
	case r.all && len(r.kept) == 0:
		goes = nil
	}
	if !o.DryRun && !o.Yes {
		question := fmt.Sprintf("remove every entry in %s?", c.Settings.Dir)
		if !r.all {
			would, err := c.Disk.WouldClear(ctx, goes, nil)
			if err != nil || would.Removed == 0 {
				out := sweepReport{Report: would, Pinned: r.pinned, filtered: true}
				return cmp.Or(err, c.Report(out, true, func() { c.Fold(func() { c.Printf("%s\n", removed(c, out)) }) }))
			}
			question = removed(c, sweepReport{Report: would, Pinned: r.pinned, Shared: r.shared, filtered: true}) + ": remove them?"
			r.shared, r.pinned = 0, 0
		}
		if agreed, err := Ask(ctx, c.App, question); err != nil || !agreed {
			return err
		}
	}
	return r.sweep("cleared",
		func(progress func(int64)) (disk.Report, error) { return remove(ctx, goes, progress) },
		func() ([]frameworks.Cache, error) { return frameworks.Clear(ctx, c.Settings.Dir, time.Now(), o.DryRun) })
}
