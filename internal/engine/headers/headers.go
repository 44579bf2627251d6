// Package headers finds which header files the units of an image read, and remembers
// that in manifests: in the process, and in a store. It looks at files through package
// deps.
package headers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// Options are what a Finder works with. All but Blobs and Refresh are required.
type Options struct {
	Blobs    store.Blobs // that manifests are read from; nil: none
	Refresh  bool        // those of the store are not believed
	Recorder stats.Recorder
	Keep     func(name key.Digest, manifest []byte) // has a manifest stored
	Warn     func(msg string, args ...any)
	Keys     *slog.Logger
	Disk     *slog.Logger
}

// Finder finds header files. It is safe for concurrent use.
type Finder struct {
	o         Options
	manifests manifests
	memory    deps.Memory
	scans     flight.Open[key.Digest, scanning] // by the names of their manifests
}

// NewFinder returns a Finder.
func NewFinder(o Options) *Finder { return &Finder{o: o} }

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
	Uncacheable reason.Uncacheable // why that cannot be known; then nothing else is set

	What     key.Digest // the request's, and the files'; whoever has found them sets it
	Image    *key.Image // with the files that its units read
	Located  bool       // paths are in the key
	Placing  manifest.Placing
	Times    string // a digest of the files' times, to the second, where what is built has them in it
	Search   deps.Search
	Previous key.Digest // of the image by manifests that do not hold any more; zero: none

	manifests []namedManifest // of the units that read files; none if it was not found, but made

	checked sync.Once // see Check
	unfit   error     // what came of it

	// ways to what is read, from before the first build on.
	ways atomic.Pointer[[]*manifest.Ways]

	mu       sync.Mutex
	contents map[key.Digest][]byte // of the files that were read, until somebody takes them
	kept     map[key.Digest]bool   // those that somebody took to keep them while the program is built
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

// Follows reports whether it is looked at again while a program of it is built. s may be nil.
func (s *Set) Follows() bool { return s != nil && len(s.manifests) > 0 }

// Changed names a file that is not as it was when the files were found, "" if none is:
// then what was built meanwhile was built from these files.
func (s *Set) Changed() string { return s.changed(func(string) bool { return true }) }

// ChangedBeside is Changed of what is in the directory of the main source, and ChangedElsewhere of
// all else. Where that is the working directory, nothing is beside.
func (s *Set) ChangedBeside() string { return s.changed(s.beside) }

// ChangedElsewhere: see ChangedBeside.
func (s *Set) ChangedElsewhere() string {
	return s.changed(func(path string) bool { return !s.beside(path) })
}

func (s *Set) beside(path string) bool {
	dir := strings.TrimRight(s.Search.Main, "/")
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/') && dir != "" && dir != s.Search.Dir
}

func (s *Set) changed(where func(path string) bool) string {
	for _, m := range s.manifests {
		if changed := m.m.ChangedWhere(where); changed != "" {
			return changed
		}
	}
	if ways := s.ways.Load(); ways != nil {
		for _, w := range *ways {
			if changed := w.ChangedWhere(where); changed != "" {
				return changed
			}
		}
	}
	return ""
}

// Watch notes the ways to what is read, before it is built. s may be nil.
func (s *Set) Watch() {
	if !s.Follows() || s.ways.Load() != nil {
		return
	}
	ways := make([]*manifest.Ways, len(s.manifests))
	for i, m := range s.manifests {
		ways[i] = m.m.Ways()
	}
	s.ways.CompareAndSwap(nil, &ways)
}

// Take returns the contents that are at hand, once, and which TakeToKeep returned. s may be nil.
func (s *Set) Take() (contents map[key.Digest][]byte, kept map[key.Digest]bool) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	contents, s.contents = s.contents, nil
	return contents, s.kept
}

// Holds reports whether contents are at hand.
func (s *Set) Holds() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.contents != nil
}

// TakeToKeep returns the contents that are at hand, once, for whoever keeps them at once.
func (s *Set) TakeToKeep() map[key.Digest][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	contents := s.contents
	s.contents = nil
	if len(contents) > 0 {
		s.kept = make(map[key.Digest]bool, len(contents))
	}
	for d := range contents {
		s.kept[d] = true
	}
	return contents
}

// Looks returns what was looked at, with the stamps of that time.
func (s *Set) Looks() (all []manifest.Look) {
	for _, m := range s.manifests {
		all = append(all, m.m.Looks()...)
	}
	return all
}

// Find finds what an image reads. Without scan it is told by manifests alone: nil where they do
// not tell.
func (f *Finder) Find(q Query, scan bool) *Set {
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
		switch {
		case !why.None():
			return &Set{Uncacheable: why}
		case m.m == nil:
			return nil
		}
		units[i], previous[i] = m.unit, m.unit
		if before != nil {
			previous[i], stale = *before, true
		}
		s.Located = s.Located || m.unit.Dir != ""
		s.Placing = max(s.Placing, m.m.Placing())
		s.manifests = append(s.manifests, m)
	}
	var err error
	if s.Image, err = q.Image.Tracked(units); err != nil {
		return &Set{Uncacheable: reason.Uncacheable{Code: reason.NotCacheableHeaders, Detail: err.Error()}}
	}
	if flags.KeepTimes(q.Words) && slices.ContainsFunc(units, func(u key.Unit) bool { return u.Kind == key.CUDACpp }) {
		s.Times = timesOf(s.Looks())
	}
	if stale {
		if img, err := q.Image.Tracked(previous); err == nil {
			s.Previous = img.Digest()
		}
	}
	if len(contents) > 0 {
		s.contents = contents
	}
	return s
}

// timesOf returns a digest of when the files that were looked at were changed last.
func timesOf(looks []manifest.Look) string {
	h := sha256.New()
	for _, l := range looks {
		if !l.Absent {
			fmt.Fprintf(h, "%q %d\n", l.Path, l.Modified/int64(time.Second))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// trackUnit fills m in: from its manifest if that holds, else by a scan, whose result is
// kept. before is the unit by a manifest that does not hold, and why is the reason for
// which the scan gave up. Of those who ask at once for one manifest, one scans.
func (f *Finder) trackUnit(m *namedManifest, q Query, scan bool, contents map[key.Digest][]byte) (before *key.Unit, why reason.Uncacheable) {
	before, cause := f.checkUnit(m)
	if m.m != nil || !scan {
		return nil, reason.Uncacheable{}
	}
	own, mine := f.scans.Begin(m.name, &scanning{done: make(chan struct{})})
	if mine {
		defer close(own.done)
		defer f.scans.End(m.name)
	} else {
		<-own.done
		if !own.uncacheable.None() {
			return nil, own.uncacheable // as of a moment ago: too careful at worst
		}
	}
	if !mine || before == nil && f.manifests.load(m.name) != nil {
		if before, cause = f.checkUnit(m); m.m != nil {
			return nil, reason.Uncacheable{}
		}
	}
	f.count(stats.HeadersScanned)
	start := time.Now()
	found, why := f.memory.Track(m.unit, q.Words, q.Search)
	f.o.Keys.Debug("headers scanned", "manifest", m.name.Dir(), "why", cause, "took", time.Since(start), "against", why.Detail)
	if !why.None() {
		if mine {
			own.uncacheable = why
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
