package disk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/recordlog"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// AppendRecords implements [store.Records]. It makes a handful of system calls.
func (s *Store) AppendRecords(lines []byte) error {
	var torn error
	err := s.at.Write(context.Background(), func(_ *rootdir.Root, m *rootdir.Meta) (err error) {
		if err = recordlog.Append(m, lines); errors.Is(err, records.ErrTorn) {
			torn, err = err, nil // not again
		}
		return err
	})
	if err = cmp.Or(err, torn); err != nil {
		return fmt.Errorf("append records: %w", err)
	}
	return nil
}

// TakeRecords calls f with each file of records, and removes those for which it returns nil. A file that was not removed
// then comes again, by the same name. It waits for nobody for long.
func (s *Store) TakeRecords(ctx context.Context, f func(name string, b []byte) error) error {
	err := s.at.Change(ctx, func(r *rootdir.Root) error {
		m, err := r.LookMeta()
		if err != nil {
			return err
		}
		return recordlog.Take(ctx, s.at, m, f)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("take records: %w", err)
	}
	return nil
}

// LookRecords calls f with each file of records, the oldest first, until it returns false. The last one is still written, and has no
// name yet.
func (s *Store) LookRecords(ctx context.Context, f func(name string, b []byte) bool) error {
	err := s.at.Look(ctx, func(r *rootdir.Root) error { return recordlog.Look(s.at, r, f) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look at records: %w", err)
	}
	return nil
}

// HasRecords reports whether there are records that nobody has taken.
func (s *Store) HasRecords() (any bool) {
	err := s.at.Look(context.Background(), func(r *rootdir.Root) (err error) {
		any, err = recordlog.Any(r)
		return err
	})
	return any && err == nil
}

// RecordsIndex returns where commands keep what they have read of records: a file in .meta.
func (s *Store) RecordsIndex() string {
	return filepath.Join(s.o.Dir, rootdir.MetaDir, "records.db")
}

// newGone returns what notes entries that are removed for one reason.
func (s *Store) newGone(why string) *recordlog.Gone {
	return &recordlog.Gone{Why: why, Now: s.o.Now, Off: !s.o.Records}
}

// placeOf returns the place of what was evicted.
func placeOf(v *evict.Victim) (p records.Place) {
	for i := range v.Names {
		copy(p[16*i:], v.Names[i][:])
	}
	return p
}
