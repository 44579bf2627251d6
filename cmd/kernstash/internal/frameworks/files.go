package frameworks

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Make makes the directory of a framework's cache, and the root where it is missing. It fails where
// the framework could not write there: a framework may warn of that, or fail.
func Make(root, name string) error {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	at, err := filepath.Rel(root, Dir(root, name))
	if err != nil {
		return err
	}
	if err := r.MkdirAll(at, 0o700); err != nil {
		return err
	}
	// Modes do not say that a file system is read-only, or full.
	probe := filepath.Join(at, ".kernstash-"+strconv.Itoa(os.Getpid()))
	f, err := r.OpenFile(probe, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // another one does the same
	}
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, block))
	return cmp.Or(err, f.Close(), r.Remove(probe))
}

// Cache is what a framework keeps below a root.
type Cache struct {
	Name  string    `json:"name"`
	Dir   string    `json:"dir"`
	Files int       `json:"files"`
	Bytes int64     `json:"bytes"` // in blocks, as du shows it
	Used  time.Time `json:"used"`  // the last time

	Removed      int   `json:"removed,omitempty"` // files
	RemovedBytes int64 `json:"removed_bytes,omitempty"`
}

// Limits say what Trim removes.
type Limits struct {
	MaxSize int64         // of all caches together; 0: none
	MaxAge  time.Duration // what was not used for longer goes; 0: never
	DryRun  bool
}

const (
	block = 4096

	// grace is how long what was just used stays: it may be half written.
	grace = time.Minute

	// lockAge is how long a lock is believed.
	lockAge = time.Hour
)

// Look counts what is there, of frameworks that keep something.
func Look(ctx context.Context, root string) ([]Cache, error) {
	s, err := open(ctx, root)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.report(), nil
}

// Trim removes what was not used for too long, and then what was not used for longest, until the
// rest is within the limit. A program that reads a file goes on reading it.
func Trim(ctx context.Context, root string, l Limits, now time.Time) ([]Cache, error) {
	s, err := open(ctx, root)
	if err != nil {
		return nil, err
	}
	defer s.close()
	slices.SortFunc(s.items, func(a, b *item) int { return a.used.Compare(b.used) })
	total := int64(0)
	for _, it := range s.items {
		total += it.bytes
	}
	for _, it := range s.items {
		unused := now.Sub(it.used)
		old := l.MaxAge > 0 && unused > l.MaxAge
		if !old && (l.MaxSize <= 0 || total <= l.MaxSize) {
			break
		}
		if unused < grace || now.Sub(it.locked) < lockAge || ctx.Err() != nil {
			continue
		}
		total -= s.remove(it, l.DryRun)
	}
	if !l.DryRun {
		s.prune(now)
	}
	return s.report(), cmp.Or(ctx.Err(), errors.Join(s.errs...))
}

// Clear removes everything that frameworks keep, or, dry, only says what that is.
func Clear(ctx context.Context, root string, now time.Time, dry bool) ([]Cache, error) {
	s, err := open(ctx, root)
	if err != nil {
		return nil, err
	}
	defer s.close()
	for _, it := range s.items {
		s.remove(it, dry)
	}
	if !dry {
		s.prune(now)
	}
	return s.report(), cmp.Or(ctx.Err(), errors.Join(s.errs...))
}

// survey is what is in the directories of a root.
type survey struct {
	caches []*place
	items  []*item
	errs   []error
}

// place is the directory of a framework's cache.
type place struct {
	Cache
	dir  *os.Root
	dirs []directory // below it, each before those in it
}

type directory struct {
	path    string
	changed time.Time
}

// item is what a framework reads as one: it is removed as one.
type item struct {
	in     *place
	files  []string
	bytes  int64
	used   time.Time
	locked time.Time // when its lock was taken, if it has one
}

// open looks at all directories. The caller closes the survey.
func open(ctx context.Context, root string) (*survey, error) {
	s := new(survey)
	r, err := os.OpenRoot(root)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for i := range all {
		at, err := filepath.Rel(root, Dir(root, all[i].Name))
		if err != nil {
			return nil, err
		}
		d, err := r.OpenRoot(at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			s.close()
			return nil, err
		}
		p := &place{Cache: Cache{Name: all[i].Name, Dir: Dir(root, all[i].Name)}, dir: d}
		s.caches = append(s.caches, p)
		if err := s.walk(ctx, p, all[i].unit); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

func (s *survey) close() {
	for _, p := range s.caches {
		p.dir.Close()
	}
}

// walk gathers the items of a cache. What goes meanwhile is passed over.
func (s *survey) walk(ctx context.Context, p *place, unit func(string) string) error {
	items := make(map[string]*item)
	return fs.WalkDir(p.dir.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var info fs.FileInfo
		if err == nil {
			info, err = e.Info()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir():
			if path != "." {
				p.dirs = append(p.dirs, directory{path, info.ModTime()})
			}
			return nil
		case !info.Mode().IsRegular():
			return nil // no framework makes such
		}
		it := items[unit(path)]
		if it == nil {
			it = &item{in: p}
			items[unit(path)] = it
			s.items = append(s.items, it)
		}
		it.files = append(it.files, path)
		it.bytes += (info.Size() + block - 1) / block * block
		it.used = latest(it.used, info.ModTime(), accessed(info))
		if strings.HasSuffix(path, ".lock") {
			it.locked = latest(it.locked, info.ModTime())
		}
		p.Files++
		p.Bytes += (info.Size() + block - 1) / block * block
		p.Used = latest(p.Used, it.used)
		return nil
	})
}

// latest returns the last of some times. Where a file system does not note accesses that is when
// the file was written.
func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// remove removes the files of an item, in the order in which the frameworks do, and returns what they took.
func (s *survey) remove(it *item, dry bool) int64 {
	slices.Sort(it.files)
	for _, path := range slices.Backward(it.files) { // .src before .bin, -cache before -atime
		if dry {
			continue
		}
		if err := it.in.dir.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.errs = append(s.errs, err)
			return 0
		}
	}
	it.in.Removed += len(it.files)
	it.in.RemovedBytes += it.bytes
	return it.bytes
}

// prune removes directories that are empty, but not those that a framework has just made.
func (s *survey) prune(now time.Time) {
	for _, p := range s.caches {
		for _, d := range slices.Backward(p.dirs) {
			if now.Sub(d.changed) >= grace {
				_ = p.dir.Remove(d.path) // it fails where something is in it
			}
		}
	}
}

func (s *survey) report() []Cache {
	var caches []Cache
	for _, p := range s.caches {
		if p.Files > 0 {
			caches = append(caches, p.Cache)
		}
	}
	return caches
}

// every is how often a trim is due.
const every = 24 * time.Hour

func marker(root string) string { return Dir(root, "trimmed") }

// Due reports whether nothing was trimmed for a day; the next one is not told so. A day begins when the
// first cache is switched on.
func Due(root string, now time.Time) bool {
	info, err := os.Lstat(marker(root))
	if err != nil {
		_ = os.WriteFile(marker(root), nil, 0o600)
		return false
	}
	if since := now.Sub(info.ModTime()); since < every && since > -every {
		return false
	}
	return os.Chtimes(marker(root), now, now) == nil
}
