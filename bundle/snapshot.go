package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrBusy is wrapped by the error for a cache that programs go on writing to.
var ErrBusy = errors.New("it is being written")

const (
	attempts = 6
	settled  = time.Second // how long a file lies unchanged before it is believed to be whole
)

// snapshot copies a cache that programs may be writing to.
type snapshot struct {
	*Harvest
	root    *os.Root // of From
	to      *os.Root
	owner   int // who has the directory; -1: that is not known
	copied  map[string]stamp
	skipped map[string]error // by path
}

// stamp is what tells that a file was changed.
type stamp struct {
	size    int64
	changed time.Time
	pickle  bool // of what was copied
}

func (s stamp) same(as stamp) bool { return s.size == as.size && s.changed.Equal(as.changed) }

// harvest copies the caches into the root that becomes the bundle.
func (c *creator) harvest(ctx context.Context) error {
	slices.SortFunc(c.Harvest, func(a, b Harvest) int { return strings.Compare(a.Name, b.Name) })
	for _, h := range c.Harvest {
		if err := c.harvestOne(ctx, &h); err != nil {
			return fmt.Errorf("harvest %s: %w", h.Name, err)
		}
		if err := c.m.addHarvest(h); err != nil {
			return err
		}
	}
	return nil
}

func (c *creator) harvestOne(ctx context.Context, h *Harvest) error {
	if err := h.Check(); err != nil {
		return err
	}
	dir := filepath.Join(c.dir, filepath.FromSlash(harvested), h.Name, filepath.FromSlash(h.Below))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close()
	from, err := os.OpenRoot(h.From)
	if err != nil {
		return err
	}
	defer from.Close()
	s := snapshot{Harvest: h, root: from, to: to, owner: -1, copied: make(map[string]stamp), skipped: make(map[string]error)}
	info, err := from.Stat(".")
	if err != nil {
		return err
	}
	if uid, known := owner(info); known {
		s.owner = uid
		if user := os.Geteuid(); uid != user && uid != 0 && user != 0 {
			return fmt.Errorf("%s belongs to user %d", h.From, uid)
		}
	}
	if err := s.take(ctx); err != nil {
		return err
	}
	if len(s.copied) == 0 {
		return fmt.Errorf("%w: there is no file in %s", ErrEmpty, h.From)
	}
	for _, of := range slices.Sorted(maps.Keys(s.skipped)) {
		c.skipped = append(c.skipped, Skipped{filepath.Join(h.From, of), s.skipped[of]})
	}
	for _, of := range s.copied {
		h.Files++
		h.Bytes += of.size
		h.Pickles = h.Pickles || of.pickle
		if c.m.Created.Before(of.changed) {
			c.m.Created = of.changed.UTC()
		}
	}
	return nil
}

// take copies until nothing has changed while it did.
func (s *snapshot) take(ctx context.Context) error {
	for n := 1; ; n++ {
		before, err := s.list(ctx)
		if err != nil {
			return err
		}
		changed, err := s.once(ctx, before)
		if err != nil || changed == "" {
			return err
		}
		if n == attempts {
			return fmt.Errorf("%w: %s changes again and again: end the programs that use it", ErrBusy, filepath.Join(s.From, changed))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settled):
		}
	}
}

// once copies what was not copied as it is, and returns a file that has changed since it was listed, or a moment ago.
func (s *snapshot) once(ctx context.Context, before map[string]stamp) (changed string, err error) {
	for of := range s.copied {
		if _, there := before[of]; !there {
			delete(s.copied, of)
			if err := s.to.Remove(of); err != nil {
				return "", err
			}
		}
	}
	for _, of := range slices.Sorted(maps.Keys(before)) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if have, there := s.copied[of]; there && have.same(before[of]) {
			continue
		}
		if err := s.copy(of, before[of]); errors.Is(err, fs.ErrNotExist) {
			changed = of
		} else if err != nil {
			return "", err
		}
	}
	now := time.Now()
	after, err := s.list(ctx)
	if err != nil {
		return "", err
	}
	for of, st := range after {
		have, there := s.copied[of]
		age := now.Sub(st.changed) // of the future: the clocks differ
		if !there || !have.same(st) || age < settled && age > -settled {
			return of, nil
		}
	}
	if changed == "" && len(after) < len(s.copied) {
		changed = "."
	}
	return changed, nil
}

// list returns the files that can travel. It notes the others.
func (s *snapshot) list(ctx context.Context) (map[string]stamp, error) {
	all := make(map[string]stamp)
	return all, fs.WalkDir(s.root.FS(), ".", func(of string, d fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil {
			info, err = d.Info()
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist) && of != ".":
			return nil // it went meanwhile
		case err != nil:
			return err
		}
		if why := s.unfit(of, info); why != nil {
			s.skipped[of] = why
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.IsDir() {
			all[of] = stamp{size: info.Size(), changed: info.ModTime()}
		}
		return nil
	})
}

// unfit says why a file, or a directory, stays behind.
func (s *snapshot) unfit(of string, info fs.FileInfo) error {
	uid, known := owner(info)
	name := path.Base(of)
	switch {
	case !info.IsDir() && !info.Mode().IsRegular():
		return errors.New("no regular file")
	case !info.IsDir() && (name == "lock" || strings.HasSuffix(name, ".lock")):
		return errors.New("a lock")
	case strings.ContainsAny(of, "\\:") || !utf8.ValidString(of):
		return errors.New("a name that not every system has")
	case info.Size() > maxFile:
		return errors.New("too large")
	case known && s.owner >= 0 && uid != s.owner && uid != 0:
		return fmt.Errorf("it belongs to user %d", uid)
	}
	return nil
}

func (s *snapshot) copy(of string, as stamp) error {
	f, info, err := openRegular(s.root, of)
	if err != nil {
		return err
	}
	defer f.Close()
	if why := s.unfit(of, info); why != nil { // another one than was listed
		return fmt.Errorf("%w: %s: %w", ErrBusy, filepath.Join(s.From, of), why)
	}
	name := filepath.FromSlash(of)
	if err := s.to.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	to, err := s.to.Create(name)
	if err != nil {
		return err
	}
	var ends ends
	_, err = io.Copy(io.MultiWriter(to, &ends), io.LimitReader(f, maxFile))
	if closeErr := to.Close(); err == nil {
		err = closeErr
	}
	as.pickle = ends.pickle()
	s.copied[of] = as
	return err
}

// ends keeps how what was written begins and ends.
type ends struct {
	first []byte
	last  byte
}

func (e *ends) Write(b []byte) (int, error) {
	if len(b) > 0 {
		e.first, e.last = append(e.first, b[:min(2-len(e.first), len(b))]...), b[len(b)-1]
	}
	return len(b), nil
}

// pickle reports whether it is one of Python 3's own protocols, which begin with their number and end with a stop.
func (e *ends) pickle() bool {
	return e.last == '.' && len(e.first) == 2 && e.first[0] == 0x80 && bytes.IndexByte([]byte{2, 3, 4, 5}, e.first[1]) >= 0
}
