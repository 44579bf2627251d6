package disk

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// Records are appended to one file, under a lock that is held for microseconds. When it is full, and
// when somebody reads records, it gets a name of its own, under which it is never written again.
const (
	recordsDir     = "records" // in .meta
	recordsCurrent = "current"
	recordsMost    = 1 << 20 // bytes from which on a file is full
	recordsFiles   = 8       // full ones that are kept until somebody reads them
	recordsWait    = 25 * time.Millisecond
)

var recordsSuffix = "." + strconv.Itoa(records.Version)

// AppendRecords implements [store.Records]. It makes a handful of system calls.
func (s *Store) AppendRecords(lines []byte) error {
	var torn error
	err := s.at.Write(context.Background(), func(_ *rootdir.Root, m *rootdir.Meta) error {
		unlock, err := m.LockRecords(context.Background(), recordsWait)
		if err != nil {
			return err
		}
		defer unlock()
		if err = appendRecords(m, lines); errors.Is(err, records.ErrTorn) {
			torn, err = err, nil // not again
		}
		return err
	})
	if err = cmp.Or(err, torn); err != nil {
		return fmt.Errorf("append records: %w", err)
	}
	return nil
}

func appendRecords(m *rootdir.Meta, lines []byte) error {
	name := recordsDir + "/" + recordsCurrent + recordsSuffix
	for range 2 {
		f, info, err := m.Dir.OpenWrite(name)
		if errors.Is(err, fs.ErrNotExist) {
			f, err = makeRecords(m)
			info = safefs.Info{Kind: safefs.Regular}
		}
		if err != nil {
			return err
		}
		err = rootdir.ErrIrregular
		full := info.Kind == safefs.Regular && info.Size > 0 && info.Size+int64(len(lines)) > recordsMost
		if info.Kind == safefs.Regular && !full {
			if err = f.WriteAt(lines, info.Size); err != nil {
				err = fmt.Errorf("%w: %w", records.ErrTorn, err)
			}
		}
		f.Close()
		if !full {
			return err
		}
		if err := closeRecords(m, true); err != nil {
			return err
		}
	}
	return rootdir.ErrIrregular
}

func makeRecords(m *rootdir.Meta) (f safefs.File, err error) {
	d, err := rootdir.EnsureDir(m.Dir, recordsDir)
	if err != nil {
		return f, err
	}
	defer d.Close()
	return d.Create(recordsCurrent + recordsSuffix)
}

// closeRecords gives the current file a name of its own. bounded removes files that nobody has read,
// where there are too many. The caller holds the lock.
func closeRecords(m *rootdir.Meta, bounded bool) error {
	d, err := m.Dir.OpenDir(recordsDir)
	if err != nil {
		return err
	}
	defer d.Close()
	if bounded {
		names, err := closedRecords(d)
		if err != nil {
			return err
		}
		for _, name := range names[:max(0, len(names)-recordsFiles+1)] {
			_ = d.Remove(name)
		}
	}
	return d.Rename(recordsCurrent+recordsSuffix, d, fmt.Sprintf("%016x%s", time.Now().UnixNano(), recordsSuffix))
}

// closedRecords returns the names of files that are not written any more, the oldest first: a name is the time at
// which it was given.
func closedRecords(d safefs.Dir) ([]string, error) {
	all, err := rootdir.ListNames(d)
	var names []string
	for _, name := range all {
		digits, ours := strings.CutSuffix(name, recordsSuffix)
		if _, err := hex.DecodeString(digits); ours && err == nil && len(digits) == 16 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}

// TakeRecords calls f with each file of records, and removes those for which it returns nil. A file that was not removed
// then comes again, by the same name. It waits for nobody for long.
func (s *Store) TakeRecords(ctx context.Context, f func(name string, b []byte) error) error {
	err := s.at.Change(ctx, func(r *rootdir.Root) error {
		m, err := r.LookMeta()
		if err != nil {
			return err
		}
		d, err := m.Dir.OpenDir(recordsDir)
		if err != nil {
			return err
		}
		defer d.Close()
		if info, err := d.Lstat(recordsCurrent + recordsSuffix); err == nil && info.Size > 0 {
			unlock, err := m.LockRecords(ctx, recordsWait)
			if err != nil {
				return err
			}
			err = closeRecords(m, false)
			unlock()
			if err != nil {
				return err
			}
		}
		names, err := closedRecords(d)
		for _, name := range names {
			b, _, err := s.at.ReadFile(d, name, 4*recordsMost, nil)
			if errors.Is(err, store.ErrTooLarge) { // none of ours
				_ = d.Remove(name)
			}
			if err != nil {
				continue
			}
			if err := f(name, b); err != nil {
				return err
			}
			_ = d.Remove(name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("take records: %w", err)
	}
	return nil
}

// LookRecords calls f with each file of records, the oldest first, until it returns false. The last one is still written, and has no
// name yet.
func (s *Store) LookRecords(ctx context.Context, f func(name string, b []byte) bool) error {
	err := s.at.Look(ctx, func(r *rootdir.Root) error {
		d, err := r.Dir.OpenDir(rootdir.MetaDir + "/" + recordsDir)
		if err != nil {
			return err
		}
		defer d.Close()
		names, err := closedRecords(d)
		for _, name := range append(names, recordsCurrent+recordsSuffix) {
			b, _, err := s.at.ReadFile(d, name, 4*recordsMost, nil)
			if err != nil {
				continue
			}
			if !f(strings.TrimPrefix(name, recordsCurrent+recordsSuffix), b) {
				break
			}
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look at records: %w", err)
	}
	return nil
}

// HasRecords reports whether there are records that nobody has taken.
func (s *Store) HasRecords() (any bool) {
	err := s.at.Look(context.Background(), func(r *rootdir.Root) error {
		d, err := r.Dir.OpenDir(rootdir.MetaDir + "/" + recordsDir)
		if err != nil {
			return err
		}
		defer d.Close()
		return d.Each(func(string) bool { any = true; return false })
	})
	return any && err == nil
}

// RecordsIndex returns where commands keep what they have read of records: a file in .meta.
func (s *Store) RecordsIndex() string {
	return filepath.Join(s.o.Dir, rootdir.MetaDir, "records.db")
}

// maxGone bounds what is noted of what one trim removes.
const maxGone = 4096

// gone gathers entries that are removed for one reason. It is for one goroutine.
type gone struct {
	s     *Store
	why   string
	n     int
	lines []byte
}

func (g *gone) add(place records.Place) {
	if g.n++; !g.s.o.Records || g.n > maxGone {
		return
	}
	if g.lines == nil {
		g.lines = []byte("\n")
	}
	l := records.Line{Kind: records.Gone, At: g.s.o.Now(), Entry: records.Entry{Place: place}, Reason: g.why}
	g.lines = l.Append(g.lines)
}

// victim is add for what was evicted.
func (g *gone) victim(v *evict.Victim) {
	if !v.Entry {
		return
	}
	var p records.Place
	for i := range v.Names {
		copy(p[16*i:], v.Names[i][:])
	}
	g.add(p)
}

// leaf is add for what was in a leaf directory.
func (g *gone) leaf(names rootdir.LeafNames) {
	var p records.Place
	for i, name := range names {
		_, _ = hex.Decode(p[16*i:16*i+16], []byte(name)) // 32 digits: IsDirName
	}
	g.add(p)
}

// write writes what was gathered. That it cannot be written is nobody's concern.
func (g *gone) write(m *rootdir.Meta) {
	lines := g.lines
	g.lines, g.n = nil, 0
	if len(lines) == 0 {
		return
	}
	unlock, err := m.LockRecords(context.Background(), recordsWait)
	if err != nil {
		return
	}
	defer unlock()
	_ = appendRecords(m, lines)
}
