package kernstash

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// HeaderSearcher is a Runtime that knows where its compiler looks for header
// files. Programs that read any are cacheable with such a runtime alone.
type HeaderSearcher interface {
	// HeaderSearch returns where the compiler of a device looks for the headers of
	// a request besides the directories that options name, while dir is the
	// working directory. An error says that it is not known, and makes programs
	// that read header files uncacheable. Contexts whose Runtimes answer alike for
	// the zero Request answer alike for each.
	HeaderSearch(device int, dir string, r Request) (deps.Search, error)
}

// tracked is what the units of an image read on one group of equal devices. It
// does not change once it is made.
type tracked struct {
	against   deps.Reason // why that cannot be known; then there is nothing else
	image     *key.Image  // with the files that its units read
	located   bool        // paths are in the key
	placing   deps.Placing
	what      key.Digest // the request's, and the files'
	manifests []manifest // of the units that read files
	dir       string     // the working directory
	was       key.Digest // of the image by manifests that do not hold any more; zero: none
	fixed     bool       // as of when its units were compiled; see NewCompiledImage

	checked sync.Once   // by Image.CheckFiles
	unfit   deps.Reason // what came of it

	// contents of the files, until somebody takes them; nil where they were not
	// read.
	contents atomic.Pointer[map[key.Digest][]byte]

	// ways to what is read, from before the first build on.
	ways atomic.Pointer[[]*deps.Ways]

	// kept are those that somebody took to keep them while the program is built.
	kept atomic.Pointer[map[key.Digest]bool]
}

// manifest is one with its name, and the unit that it is of.
type manifest struct {
	name key.Digest
	unit key.Unit
	m    *deps.Manifest
}

// check has the contents of the files checked, once: what is tracked is one image's.
func (t *tracked) check(check func(contents [][]byte) error) deps.Reason {
	t.checked.Do(func() {
		var contents [][]byte
		for _, u := range t.image.Units() {
			for _, f := range u.Files {
				content, err := readHeader(f)
				if err != nil {
					t.unfit = deps.Reason{Code: reason.NotCacheableHeaders, Detail: err.Error()}
					return
				}
				contents = append(contents, content)
			}
		}
		if err := check(contents); err != nil {
			t.unfit = deps.Reason{Code: reason.NotCacheableHeaders, Detail: err.Error()}
		}
	})
	return t.unfit
}

// changed names what is not as it was when the program was tracked, "" if
// nothing: then what was built meanwhile was built from these files.
func (t *tracked) changed() string {
	if t == nil || t.image == nil || t.fixed {
		return ""
	}
	if dir, err := os.Getwd(); err != nil || dir != t.dir {
		return "the working directory"
	}
	for _, m := range t.manifests {
		if changed := m.m.Changed(); changed != "" {
			return changed
		}
	}
	if ways := t.ways.Load(); ways != nil {
		for _, w := range *ways {
			if changed := w.Changed(); changed != "" {
				return changed
			}
		}
	}
	return ""
}

// watch notes the ways to what is read, before it is built.
func (t *tracked) watch() {
	if t == nil || t.image == nil || t.fixed || t.ways.Load() != nil {
		return
	}
	ways := make([]*deps.Ways, len(t.manifests))
	for i, m := range t.manifests {
		ways[i] = m.m.Ways()
	}
	t.ways.CompareAndSwap(nil, &ways)
}

// take returns the contents that are at hand, once.
func (t *tracked) take() map[key.Digest][]byte {
	if t == nil {
		return nil
	}
	if c := t.contents.Swap(nil); c != nil {
		return *c
	}
	return nil
}

// keepHeaders has the contents of header files written while the compiler compiles what
// they are of, on another processor: a process may end soon after, and its artifact
// should not have to wait for a thousand files.
func (c *Cache) keepHeaders(t *tracked) {
	mode := c.settings.Mode
	if !c.Writes() || mode != settings.ModeOn && mode != settings.ModeRefresh || c.settings.MinBuildTime > 0 || runtime.GOMAXPROCS(0) == 1 {
		return
	}
	contents := t.take()
	if len(contents) == 0 {
		return
	}
	kept := make(map[key.Digest]bool, len(contents))
	for d := range contents {
		kept[d] = true
	}
	t.kept.Store(&kept)
	c.storer.add(storing{headers: contents})
}

// keptHeaders are those that keepHeaders has had written.
func (t *tracked) keptHeaders() map[key.Digest]bool {
	if t == nil {
		return nil
	}
	if kept := t.kept.Load(); kept != nil {
		return *kept
	}
	return nil
}

var errSearch = errors.New("where the compiler looks for header files is not known")

// track finds what the units of an image read. It looks at files: whoever calls
// it does not wait for it. known says that nothing is to be scanned: nil then where
// the manifests do not tell.
func (x *Context[P, K]) track(devices []int, r Request, known bool) (*tracked, error) {
	rec, against, err := x.recipe(devices, r, nil)
	switch {
	case err != nil:
		return nil, err
	case !against.None():
		return &tracked{against: against}, nil
	case r.Image.files.fixed != nil:
		return r.Image.trackedThen(devices[0]), nil
	}
	dir, err := os.Getwd()
	var s deps.Search
	if err == nil {
		s, err = x.headerSearch(devices[0], dir, r)
	}
	if err != nil {
		return &tracked{against: deps.Reason{Code: reason.NotCacheableHeaders, Detail: err.Error()}}, nil
	}
	t := &tracked{dir: dir}
	if known {
		return x.trackKnown(t, rec, r.Image, s)
	}
	units := append([]key.Unit(nil), r.Image.Units()...)
	was := append([]key.Unit(nil), units...)
	contents := make(map[key.Digest][]byte)
	device := rec.Device.Digest()
	stale := false
	for i := range units {
		if !r.Image.files.reads[i] {
			continue
		}
		m := manifest{name: deps.FirstKey(device, units[i], rec.Options.Compile, s), unit: units[i]}
		before := x.cache.trackUnit(&m, rec.Options.Compile, s, contents, &t.against)
		if !t.against.None() {
			return &tracked{against: t.against}, nil
		}
		if before != nil {
			was[i], stale = *before, true
		} else {
			was[i] = m.unit
		}
		units[i] = m.unit
		t.located = t.located || m.unit.Dir != ""
		t.placing = max(t.placing, m.m.Placing())
		t.manifests = append(t.manifests, m)
	}
	if t.image, err = r.Image.Image.Tracked(units); err != nil {
		return &tracked{against: deps.Reason{Code: reason.NotCacheableHeaders, Detail: err.Error()}}, nil
	}
	if stale {
		if img, err := r.Image.Image.Tracked(was); err == nil {
			t.was = img.Digest()
		}
	}
	if len(contents) > 0 {
		t.contents.Store(&contents)
	}
	return t, nil
}

// trackKnown is track by manifests alone: nil where they do not tell. What the image is if
// they hold is worked out while they are checked.
func (x *Context[P, K]) trackKnown(t *tracked, rec *key.Recipe, img *Image, s deps.Search) (*tracked, error) {
	units := append([]key.Unit(nil), img.Units()...)
	device := rec.Device.Digest()
	var checks []*check
	defer func() {
		for _, c := range checks {
			c.Close()
		}
	}()
	for i := range units {
		if !img.files.reads[i] {
			continue
		}
		m := manifest{name: deps.FirstKey(device, units[i], rec.Options.Compile, s), unit: units[i]}
		c := x.cache.beginCheck(&m)
		if c == nil {
			return nil, nil
		}
		checks = append(checks, c)
		units[i] = c.unit
		t.located = t.located || c.unit.Dir != ""
		t.placing = max(t.placing, c.manifest.m.Placing())
	}
	image, err := img.Image.Tracked(units)
	for _, c := range checks {
		if changed, damaged := c.end(); damaged || changed != "" {
			return nil, nil
		}
		t.manifests = append(t.manifests, c.manifest)
	}
	if err != nil {
		return &tracked{against: deps.Reason{Code: reason.NotCacheableHeaders, Detail: err.Error()}}, nil
	}
	t.image = image
	return t, nil
}

// headerSearch returns where a device's compiler looks for the header files of a
// request in a working directory.
func (x *Context[P, K]) headerSearch(device int, dir string, r Request) (deps.Search, error) {
	searcher, ok := any(x.rt).(HeaderSearcher)
	if !ok {
		return deps.Search{}, errSearch
	}
	s, err := searcher.HeaderSearch(device, dir, r)
	s.Dir = dir
	return s, err
}

// trackUnit fills m in: from its manifest if that holds, else by a scan, whose
// result is kept. before is the unit by a manifest that does not hold. Of those
// who ask at once for one manifest, one scans.
func (c *Cache) trackUnit(m *manifest, words []string, s deps.Search, contents map[key.Digest][]byte, against *deps.Reason) (before *key.Unit) {
	before, why := c.checkUnit(m)
	if m.m != nil {
		return nil
	}
	mine, other := c.manifests.begin(m.name)
	if mine != nil {
		defer c.manifests.end(m.name, mine)
	} else {
		<-other.done
		if *against = other.against; !against.None() {
			return nil // as of a moment ago: too careful at worst
		}
	}
	if mine == nil || before == nil && c.manifests.load(m.name) != nil {
		if before, why = c.checkUnit(m); m.m != nil {
			return nil
		}
	}
	c.stats.Add(stats.HeadersScanned, 1)
	start := time.Now()
	tr, refused := deps.Track(m.unit, words, s)
	on(c.trace.keys, func(l *slog.Logger) {
		l.Debug("headers scanned", "manifest", m.name.Dir(), "why", why, "took", time.Since(start), "against", refused.Detail)
	})
	if !refused.None() {
		*against = refused
		if mine != nil {
			mine.against = refused
		}
		return nil
	}
	m.unit, m.m = tr.Unit, tr.Manifest
	for d, content := range tr.Contents {
		contents[d] = content
	}
	c.keepManifest(m)
	return before
}

// checkUnit fills m in from its manifest if there is one and it holds. Else
// before is the unit by it, nil for none, and why is for people.
func (c *Cache) checkUnit(m *manifest) (before *key.Unit, why string) {
	k := c.beginCheck(m)
	if k == nil {
		return nil, "no manifest"
	}
	defer k.Close()
	changed, damaged := k.end()
	switch {
	case damaged:
		return nil, "no manifest"
	case changed != "":
		return &k.unit, "changed: " + changed
	}
	*m = k.manifest
	return nil, ""
}

// check is one of a manifest, which others may go on with while the caller does something
// else.
type check struct {
	*deps.Checking
	c *Cache
	manifest
	unverified []byte // of the manifest; nil: it is known to be whole
	began      time.Time
}

// beginCheck begins to check the manifest of a unit that m names; nil: there is none.
func (c *Cache) beginCheck(m *manifest) *check {
	began := time.Now()
	known, unverified := c.loadManifest(m.name)
	if known == nil {
		return nil
	}
	going := known.Begin(m.unit)
	if going == nil {
		return nil
	}
	return &check{going, c, manifest{m.name, known.Before(m.unit), known}, unverified, began}
}

// end returns the name of a file that is not as it was; "" says that the manifest holds,
// unless it is damaged.
func (k *check) end() (changed string, damaged bool) {
	if k.unverified != nil && !k.c.verifyManifest(k.name, k.unverified) {
		return "", true
	}
	renewed, changed := k.End()
	if changed != "" {
		return changed, false
	}
	c := k.c
	if renewed {
		c.keepManifest(&k.manifest)
	}
	c.stats.Add(stats.HeadersChecked, 1)
	on(c.trace.keys, func(l *slog.Logger) {
		l.Debug("headers unchanged", "manifest", k.name.Dir(), "files", len(k.unit.Files), "took", time.Since(k.began))
	})
	return "", false
}

// headerContents returns the contents of the header files of a recipe that the
// disk tier does not have, from those at hand or from the files themselves, if
// they are still the same. kept are written already.
func (c *Cache) headerContents(r *key.Recipe, atHand map[key.Digest][]byte, kept map[key.Digest]bool) map[key.Digest][]byte {
	if !r.Image.ReadsFiles() || !c.Writes() {
		return nil
	}
	all := make(map[key.Digest][]byte)
	for _, u := range r.Image.Units() {
		for _, f := range u.Files {
			if content, ok := atHand[f.Digest]; ok {
				all[f.Digest] = content
				continue
			}
			if _, ok := all[f.Digest]; ok || kept[f.Digest] || c.written.HasBlob(store.Headers, f.Digest, f.Size) {
				continue
			}
			content, err := readHeader(f)
			if err != nil {
				on(c.trace.disk, func(l *slog.Logger) { l.Debug("header not kept", "path", f.Path, "reason", err.Error()) })
				continue
			}
			all[f.Digest] = content
		}
	}
	return all
}

// errHeader is wrapped where a header file is not what it was.
var errHeader = errors.New("not what was built")

// maxHeaderRead is the largest header that is read again to be kept.
const maxHeaderRead = 64 << 20

// readHeader reads a header file that was read before.
func readHeader(f key.File) ([]byte, error) {
	file, err := os.OpenFile(f.Path, os.O_RDONLY|noWait, 0) // it may be a FIFO by now
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() != f.Size || f.Size > maxHeaderRead {
		return nil, fmt.Errorf("%s: %w", f.Path, cmp.Or(err, errHeader))
	}
	b := make([]byte, f.Size)
	if _, err := io.ReadFull(file, b); err != nil {
		return nil, err
	}
	if sha256.Sum256(b) != f.Digest {
		return nil, fmt.Errorf("%s: %w", f.Path, errHeader)
	}
	return b, nil
}
