// Package headers finds which header files the units of an image read, and remembers
// that in manifests: in the process, and in a store. It looks at files through package
// deps.
package headers

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// Options are what a Finder works with. Recorder, Keep and Warn are required.
type Options struct {
	Blobs    store.Blobs // that manifests are read from; nil: none
	Refresh  bool        // those of the store are not believed
	Recorder stats.Recorder
	Keep     func(name key.Digest, manifest []byte) // has a manifest stored
	Warn     func(msg string, args ...any)
	Keys     *slog.Logger // may be nil, as Disk
	Disk     *slog.Logger
}

// Finder finds header files. It is safe for concurrent use.
type Finder struct {
	o         Options
	manifests manifests
}

// NewFinder returns a Finder.
func NewFinder(o Options) *Finder {
	o.Keys, o.Disk = cmp.Or(o.Keys, silent), cmp.Or(o.Disk, silent)
	return &Finder{o: o}
}

var silent = slog.New(slog.DiscardHandler)

func (f *Finder) count(c stats.Counter) { f.o.Recorder.Add(c, 1) }

// Query asks what an image reads.
type Query struct {
	Image  *key.Image
	Reads  []bool // for each unit, whether it reads files
	Device key.Digest
	Words  []string // the compile options
	Search deps.Search
}

// Set is what the units of an image read. What it says does not change.
type Set struct {
	Image    *key.Image // with the files that its units read
	Located  bool       // paths are in the key
	Placing  manifest.Placing
	Search   deps.Search
	Previous key.Digest // of the image by manifests that do not hold any more; zero: none

	manifests []namedManifest // of the units that read files

	checked sync.Once // see Check
	unfit   error     // what came of it

	// contents of the files, until somebody takes them; nil where they were not
	// read.
	contents atomic.Pointer[map[key.Digest][]byte]

	// ways to what is read, from before the first build on.
	ways atomic.Pointer[[]*manifest.Ways]

	// kept are those that somebody took to keep them while the program is built.
	kept atomic.Pointer[map[key.Digest]bool]
}

// namedManifest is one with its name, and the unit that it is of.
type namedManifest struct {
	name key.Digest
	unit key.Unit
	m    *manifest.Manifest
}

// Check has the contents of the files checked, once: a Set is one image's.
func (s *Set) Check(check func(contents [][]byte) error) error {
	s.checked.Do(func() {
		var contents [][]byte
		for _, u := range s.Image.Units() {
			for _, f := range u.Files {
				content, err := deps.Read(f)
				if err != nil {
					s.unfit = err
					return
				}
				contents = append(contents, content)
			}
		}
		s.unfit = check(contents)
	})
	return s.unfit
}

// Changed names a file that is not as it was when the files were found, "" if none is:
// then what was built meanwhile was built from these files.
func (s *Set) Changed() string {
	for _, m := range s.manifests {
		if changed := m.m.Changed(); changed != "" {
			return changed
		}
	}
	if ways := s.ways.Load(); ways != nil {
		for _, w := range *ways {
			if changed := w.Changed(); changed != "" {
				return changed
			}
		}
	}
	return ""
}

// Watch notes the ways to what is read, before it is built.
func (s *Set) Watch() {
	if s.ways.Load() != nil {
		return
	}
	ways := make([]*manifest.Ways, len(s.manifests))
	for i, m := range s.manifests {
		ways[i] = m.m.Ways()
	}
	s.ways.CompareAndSwap(nil, &ways)
}

// Take returns the contents that are at hand, once.
func (s *Set) Take() map[key.Digest][]byte {
	if c := s.contents.Swap(nil); c != nil {
		return *c
	}
	return nil
}

// Holds reports whether contents are at hand.
func (s *Set) Holds() bool { return s.contents.Load() != nil }

// TakeToKeep is Take for whoever keeps them at once; Kept says which they were.
func (s *Set) TakeToKeep() map[key.Digest][]byte {
	contents := s.Take()
	if len(contents) == 0 {
		return nil
	}
	kept := make(map[key.Digest]bool, len(contents))
	for d := range contents {
		kept[d] = true
	}
	s.kept.Store(&kept)
	return contents
}

// Kept are those that TakeToKeep returned.
func (s *Set) Kept() map[key.Digest]bool {
	if kept := s.kept.Load(); kept != nil {
		return *kept
	}
	return nil
}

// Looks returns what was looked at, with the stamps of that time.
func (s *Set) Looks() (all []manifest.Look) {
	for _, m := range s.manifests {
		all = append(all, m.m.Looks()...)
	}
	return all
}

func (s *Set) add(m namedManifest) {
	s.Located = s.Located || m.unit.Dir != ""
	s.Placing = max(s.Placing, m.m.Placing())
	s.manifests = append(s.manifests, m)
}

func unknown(err error) reason.Uncacheable {
	return reason.Uncacheable{Code: reason.NotCacheableHeaders, Detail: err.Error()}
}

// Find finds what an image reads. A reason says that it cannot be known. Without scan it is
// told by manifests alone: nil, and no reason, where they do not tell.
func (f *Finder) Find(q Query, scan bool) (*Set, reason.Uncacheable) {
	s := &Set{Search: q.Search}
	units := slices.Clone(q.Image.Units())
	previous := slices.Clone(units)
	contents := make(map[key.Digest][]byte)
	stale := false
	for i := range units {
		if !q.Reads[i] {
			continue
		}
		m := namedManifest{name: deps.FirstKey(q.Device, units[i], q.Words, q.Search), unit: units[i]}
		before, why := f.trackUnit(&m, q, scan, contents)
		if m.m == nil {
			return nil, why
		}
		if before != nil {
			previous[i], stale = *before, true
		} else {
			previous[i] = m.unit
		}
		units[i] = m.unit
		s.add(m)
	}
	var err error
	if s.Image, err = q.Image.Tracked(units); err != nil {
		return nil, unknown(err)
	}
	if stale {
		if img, err := q.Image.Tracked(previous); err == nil {
			s.Previous = img.Digest()
		}
	}
	if len(contents) > 0 {
		s.contents.Store(&contents)
	}
	return s, reason.Uncacheable{}
}

// trackUnit fills m in: from its manifest if that holds, else by a scan, whose result is
// kept. before is the unit by a manifest that does not hold, and why is the reason for
// which the scan gave up. Of those who ask at once for one manifest, one scans.
func (f *Finder) trackUnit(m *namedManifest, q Query, scan bool, contents map[key.Digest][]byte) (before *key.Unit, why reason.Uncacheable) {
	before, cause := f.checkUnit(m)
	if m.m != nil || !scan {
		return nil, reason.Uncacheable{}
	}
	mine, other := f.manifests.begin(m.name)
	if mine != nil {
		defer f.manifests.end(m.name, mine)
	} else {
		<-other.done
		if !other.uncacheable.None() {
			return nil, other.uncacheable // as of a moment ago: too careful at worst
		}
	}
	if mine == nil || before == nil && f.manifests.load(m.name) != nil {
		if before, cause = f.checkUnit(m); m.m != nil {
			return nil, reason.Uncacheable{}
		}
	}
	f.count(stats.HeadersScanned)
	start := time.Now()
	found, why := deps.Track(m.unit, q.Words, q.Search)
	f.o.Keys.Debug("headers scanned", "manifest", m.name.Dir(), "why", cause, "took", time.Since(start), "against", why.Detail)
	if !why.None() {
		if mine != nil {
			mine.uncacheable = why
		}
		return nil, why
	}
	m.unit, m.m = found.Unit, found.Manifest
	maps.Copy(contents, found.Contents)
	f.keepManifest(m)
	return before, reason.Uncacheable{}
}

// checkUnit fills m in from its manifest if there is one and it holds. Else before is
// the unit by it, nil for none, and why is for people.
func (f *Finder) checkUnit(m *namedManifest) (before *key.Unit, why string) {
	began := time.Now()
	known := f.loadManifest(m.name)
	if known == nil {
		return nil, "no manifest"
	}
	unit := known.Before(m.unit)
	renewed, changed := known.Check()
	if changed != "" {
		return &unit, "changed: " + changed
	}
	m.unit, m.m = unit, known
	if renewed {
		f.keepManifest(m)
	}
	f.count(stats.HeadersChecked)
	f.o.Keys.Debug("headers unchanged", "manifest", m.name.Dir(), "files", len(unit.Files), "took", time.Since(began))
	return nil, ""
}
