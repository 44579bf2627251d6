package disk

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// Parts is into how many parts the entries of a root are divided, by their images.
const Parts = evict.Shards

// PartOf returns the part of the entries at a place.
func PartOf(p records.Place) int { return int(p[16]) }

// Facts are what entries are sorted by.
type Facts struct {
	Place  records.Place
	Number uint32
	Size   int64 // as [store.Info] has it
	Taken  int64 // what its files take, as the account counts it
	Cost   time.Duration
	Used   time.Time
}

// Location returns where the entry is, as [store.Info] has it.
func (f *Facts) Location() string { return f.Place.Path() + "/" + rootdir.BinName(f.Number) }

// ParseLocation returns the place and the number of an entry.
func ParseLocation(location string) (p records.Place, number uint32, ok bool) {
	at := strings.LastIndexByte(location, '/')
	if at < 0 {
		return p, 0, false
	}
	number, ok = rootdir.BinNumber(location[at+1:])
	b, err := hex.DecodeString(strings.ReplaceAll(location[:at], "/", ""))
	if err != nil || len(b) != len(p) {
		return p, 0, false
	}
	return records.Place(b), number, ok
}

// Mark is what the account said of a part at a time.
type Mark evict.Mark

// Added returns how many bytes were added to the part since before, at most.
func (m Mark) Added(before Mark) int64 { return evict.Mark(m).Added(evict.Mark(before)) }

// Directory is what a new directory adds.
const Directory = 4096

// Marks returns the marks of all parts.
func (s *Store) Marks() (all [Parts]Mark, err error) {
	err = s.at.Look(context.Background(), func(r *rootdir.Root) error {
		m, err := r.LookMeta()
		if err != nil {
			return err
		}
		var l evict.Ledger
		if err := m.Account.Read(&l); err != nil {
			return err
		}
		for i := range all {
			all[i] = Mark(l.Mark(i))
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("read the account: %w", err)
	}
	return all, err
}

// Survey calls f with the facts of all entries of each of some parts. A part that cannot be read as a whole has what could be read.
func (s *Store) Survey(ctx context.Context, parts []int, f func(part int, all []Facts) error) error {
	err := s.at.Look(ctx, func(r *rootdir.Root) error {
		list, err := (&rootdir.Walker{Ctx: ctx, Count: true}).Images(r.Dir, parts)
		if err != nil {
			return err
		}
		var all []Facts
		w := rootdir.Walker{Ctx: ctx, Visit: func(leaf safefs.Dir, names rootdir.LeafNames, items []rootdir.Item) error {
			for i := range items {
				if items[i].Bin != nil {
					all = append(all, s.facts(leaf, names, &items[i]))
				}
			}
			return nil
		}}
		for _, part := range parts {
			all = all[:0]
			if _, err := w.Shard(r.Dir, list, part); err != nil {
				return err
			}
			if err := f(part, all); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("survey %s: %w", s.o.Dir, err)
	}
	return nil
}

func (s *Store) facts(leaf safefs.Dir, names rootdir.LeafNames, it *rootdir.Item) Facts {
	f := Facts{Number: it.N, Size: it.Length(), Taken: it.Usage().Bytes, Used: time.Unix(0, it.Bin.Mtime)}
	for i, name := range names {
		_, _ = hex.Decode(f.Place[16*i:16*i+16], []byte(name)) // 32 digits: IsDirName
	}
	if h, _ := s.header(leaf, names, it.N); h != nil {
		f.Cost = h.Cost
	}
	return f
}

// FactsAt yields the facts of the entries at places.
func (s *Store) FactsAt(ctx context.Context, places []records.Place) iter.Seq2[Facts, error] {
	return func(yield func(Facts, error) bool) {
		err := s.at.Look(ctx, func(r *rootdir.Root) error {
			for _, p := range places {
				if err := ctx.Err(); err != nil {
					return err
				}
				err := itemsAt(r, p, func(leaf safefs.Dir, names rootdir.LeafNames, it *rootdir.Item) error {
					if !yield(s.facts(leaf, names, it), nil) {
						return errStop
					}
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) && !errors.Is(err, fs.ErrNotExist) {
			yield(Facts{}, fmt.Errorf("look into %s: %w", s.o.Dir, err))
		}
	}
}

// LockCatalog takes the lock of who changes the catalog.
func (s *Store) LockCatalog(ctx context.Context, wait time.Duration) (unlock func(), err error) {
	return s.at.Lock(ctx, rootdir.CatalogLock, wait)
}

// Catalog returns where commands keep facts in order: a directory in .meta.
func (s *Store) Catalog() string { return filepath.Join(s.o.Dir, rootdir.MetaDir, "catalog") }
