package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/recordlog"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/disk/internal/shared"
)

// sweepWait is how long a sweep waits for another one, and for evictors.
const sweepWait = time.Minute

// sweep is one run of Verify, GC or Clear over the whole root.
type sweep struct {
	s        *Store
	ctx      context.Context
	r        *rootdir.Root
	m        *rootdir.Meta
	report   Report
	progress func(done int64)
	books    *evict.Books
	n        *evict.Count // of the shard that is walked
	left     evict.Usage  // what is there and stays, whatever its version
	partial  bool         // the medium failed: not all was seen
	alone    bool         // without evictors and other sweeps, so that it may remove something

	noted map[string]*recordlog.Gone // by reason

	used   map[key.Digest]bool // headers that recipes name; nil: there is nothing to collect
	unsure bool                // some recipe could not be asked: all headers stay
}

// sweep calls run with an open root, and does nothing where there is none.
// Alone, it excludes evictors and other sweeps; renew puts a new account in the
// place of one that can never be read.
func (s *Store) sweep(ctx context.Context, op string, alone, renew bool, progress func(int64), run func(*sweep) error) (Report, error) {
	if progress == nil {
		progress = func(int64) {}
	}
	w := &sweep{s: s, ctx: ctx, progress: progress, alone: alone}
	fail := func(err error) (Report, error) { return w.report, fmt.Errorf("%s %s: %w", op, s.o.Dir, err) }
	var err error
	w.r, err = s.at.Acquire(false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.report, nil
	case err != nil:
		return fail(err)
	}
	defer w.r.Release()
	if alone {
		if err := s.at.Writable(); err != nil {
			return fail(err)
		}
		if w.m, err = w.r.Meta(); err != nil {
			return fail(err)
		}
		deadline := time.Now().Add(sweepWait)
		for n := range evict.Locks + 1 {
			unlock, err := w.m.LockEvict(ctx, n, time.Until(deadline))
			if err != nil {
				return fail(err)
			}
			defer unlock()
		}
		if renew {
			if err := w.m.Account.Renew(); err != nil {
				s.o.Trace.Warn("account not renewed", "reason", err)
			}
		}
	}
	defer func() {
		for _, g := range w.noted {
			g.Write(w.m)
		}
	}()
	var account *evict.Account
	if m, err := w.r.LookMeta(); err == nil {
		account = m.Account
	}
	w.books = evict.OpenBooks(account, !alone, s.o.Now, s.o.Trace)
	err = shared.EachUsage(ctx, w.r, func(u evict.Usage) { w.report.Bytes += u.Bytes })
	if err == nil {
		err = run(w)
	}
	if err == nil && alone {
		err = w.books.CountShared(func(f func(evict.Usage)) error { return shared.EachUsage(ctx, w.r, f) })
	}
	if err != nil {
		return fail(err)
	}
	return w.report, nil
}

// items walks all shards, and corrects the account of each. visit says of an item whether it
// is gone, or would be, and whether it is of another version. Alone, it removes empty directories.
func (w *sweep) items(visit func(leaf safefs.Dir, names rootdir.LeafNames, it *rootdir.Item) (gone, other bool)) error {
	walk := &rootdir.Walker{Count: true}
	walk.Visit = func(leaf safefs.Dir, names rootdir.LeafNames, items []rootdir.Item) error {
		for i := range items {
			it := &items[i]
			w.there(it.Usage())
			if it.Bin != nil {
				w.report.Entries++
				w.progress(w.report.Entries)
			}
			gone, other := visit(leaf, names, it)
			dirs := rootdir.Directories(walk.Freed(items))
			switch {
			case gone && !w.alone:
				w.took(it.Usage().Plus(dirs))
			case other && !gone: // the account is not for it
				w.n.Saw(evict.Usage{}.Minus(it.Usage().Plus(dirs)))
			}
		}
		return w.ctx.Err()
	}
	walk.Ctx = w.ctx
	walk.Entered = func(rootdir.LeafNames) { w.there(rootdir.Directories(1)) }
	walk.Passed = func(location string, err error) { w.report.problem(location, err, false) }
	if w.alone {
		walk.Rmdir = w.rmdir
	}
	var list *rootdir.Images
	order := w.books.Order()
	err := w.books.Each(order, w.s.o.hooks.bounds, func() (err error) {
		list, err = walk.Images(w.r.Dir, order)
		return err
	}, func(shard int, n *evict.Count) (err error) {
		w.n = n
		n.Complete, err = walk.Shard(w.r.Dir, list, shard)
		w.partial = w.partial || !n.Complete
		return err
	})
	if err != nil || !w.alone {
		return err
	}
	for _, d := range list.Devices {
		if list.Filled[d] || !rootdir.JustMade(w.r.Dir.Lstat(d)) {
			_ = w.rmdir(w.r.Dir, rootdir.LeafNames{d}, 0)
		}
	}
	return nil
}

func (w *sweep) there(u evict.Usage) {
	w.report.Bytes += u.Bytes
	w.left = w.left.Plus(u)
	w.n.Saw(u)
}

func (w *sweep) took(u evict.Usage) {
	w.left = w.left.Minus(u)
	w.n.Took(u)
	w.report.RemovedBytes += u.Bytes
	w.report.Removed += u.Entries
}

// gone returns what gathers entries that are removed for a reason; the sweep writes it in the end.
func (w *sweep) gone(why string) *recordlog.Gone {
	if w.noted == nil {
		w.noted = make(map[string]*recordlog.Gone)
	}
	if w.noted[why] == nil {
		w.noted[why] = w.s.newGone(why)
	}
	return w.noted[why]
}

var errKept = errors.New("it stays")

// change removes something of a leaf under its lock.
func (w *sweep) change(names rootdir.LeafNames, remove func() (evict.Usage, error)) bool {
	unlock, err := w.m.LockLeaf(w.ctx, names, rootdir.LeafWait)
	if err != nil {
		return false
	}
	defer unlock()
	u, err := remove()
	if err != nil {
		return false
	}
	w.took(u)
	return true
}

// remove removes item n, if still says so under the lock. everything includes a recipe of
// another version.
func (w *sweep) remove(leaf safefs.Dir, names rootdir.LeafNames, n uint32, everything bool, still func() bool) bool {
	return w.change(names, func() (evict.Usage, error) {
		if !still() {
			return evict.Usage{}, errKept
		}
		return rootdir.RemoveEntry(leaf, n, rootdir.Stat(leaf, rootdir.BinName(n)), everything)
	})
}

// removeRecipe removes the .src of item n, if still says so under the lock.
func (w *sweep) removeRecipe(leaf safefs.Dir, names rootdir.LeafNames, n uint32, still func() bool) bool {
	return w.change(names, func() (evict.Usage, error) {
		info := rootdir.Stat(leaf, rootdir.SrcName(n))
		if info == nil || !still() {
			return evict.Usage{}, errKept
		}
		return rootdir.FileUsage(nil, info), leaf.Remove(rootdir.SrcName(n))
	})
}

// isOrphan reports whether an item is a recipe that a writer left: that puts it first, so
// one that is young is none.
func (w *sweep) isOrphan(it *rootdir.Item) bool {
	return it.Src.Kind == safefs.Regular && w.olderThan(orphanAge, *it.Src)
}

// removeOrphan removes a recipe, unless there is an entry by now.
func (w *sweep) removeOrphan(leaf safefs.Dir, names rootdir.LeafNames, n uint32) bool {
	return w.removeRecipe(leaf, names, n, func() bool {
		_, err := leaf.Lstat(rootdir.BinName(n))
		return errors.Is(err, fs.ErrNotExist)
	})
}

func (w *sweep) rmdir(parent safefs.Dir, names rootdir.LeafNames, level int) error {
	if err := parent.Rmdir(names[level]); err != nil {
		return err
	}
	w.report.EmptyDirs++
	if level > 0 {
		w.took(rootdir.Directories(1))
	}
	return nil
}

// temporary removes what killed writers left in .meta/tmp.
func (w *sweep) temporary() error {
	tmp, err := w.r.Dir.OpenDir(rootdir.MetaDir + "/" + rootdir.TmpDir)
	if err != nil {
		return rootdir.IgnoreGone(err)
	}
	defer tmp.Close()
	var old []string
	err = tmp.Each(func(name string) bool {
		info, err := tmp.Lstat(name)
		if err == nil && info.Kind == safefs.Regular && w.olderThan(orphanAge, info) {
			old = append(old, name)
			w.report.RemovedBytes += info.Size
		}
		return true
	})
	for _, name := range old {
		w.report.Temporary++
		if w.alone {
			_ = tmp.Remove(name)
		}
	}
	return rootdir.IgnoreGone(err)
}

// maxProblems bounds how many problems a report describes; all are counted.
const maxProblems = 1000

// Report is what Verify, GC and Clear found and did.
type Report struct {
	Entries       int64 `json:"entries"`        // entries seen
	Bytes         int64 `json:"bytes"`          // what they take, with recipes, directories, header files, manifests and jobs
	Damaged       int64 `json:"damaged"`        // entries that can hit nowhere
	LostRecipes   int64 `json:"lost_recipes"`   // good entries without a good recipe
	Orphans       int64 `json:"orphans"`        // recipes without an entry, left behind
	OtherVersions int64 `json:"other_versions"` // entries of another version of kernstash
	Temporary     int64 `json:"temporary"`      // temporary files left behind, removed
	EmptyDirs     int64 `json:"empty_dirs"`     // empty directories removed
	Headers       int64 `json:"headers"`        // contents of header files that no recipe names, removed
	BadHeaders    int64 `json:"bad_headers"`    // contents of header files that are damaged
	Manifests     int64 `json:"manifests"`      // lists of header files that were not used for too long, removed
	Jobs          int64 `json:"jobs"`           // jobs that no worker did for too long, removed

	// Removed counts entries, and RemovedBytes all that was removed with them
	// or that nobody needed; with DryRun, what would have been.
	Removed      int64 `json:"removed"`
	RemovedBytes int64 `json:"removed_bytes"`

	DryRun   bool      `json:"dry_run,omitempty"`
	Problems []Problem `json:"problems,omitempty"` // the first of them
}

// Problem is one thing that is wrong.
type Problem struct {
	Location string // path below the root
	Err      error
	Repaired bool // by removing it
}

// MarshalJSON writes the error as its text.
func (p Problem) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Location string `json:"location"`
		Reason   string `json:"reason"`
		Repaired bool   `json:"repaired"`
	}{p.Location, p.Err.Error(), p.Repaired})
}

func (r *Report) problem(location string, err error, repaired bool) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, Problem{location, err, repaired})
	}
}
