package remote

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Prefix returns what the names of all objects of the store begin with.
func (s *Store) Prefix() string { return s.prefix() }

// Description is what an operator wants to know of an entry's object.
type Description struct {
	store.Info
	Signer  ed25519.PublicKey // whose signature was checked; nil: it is not signed, or not by whom it says
	Builder string            // as whoever put it calls himself; nobody checks that without a Signer
	Written time.Time         // when it was put
}

// Describe yields the entries, as [Store.List] does, with who put them.
func (s *Store) Describe(ctx context.Context) iter.Seq2[Description, error] {
	return func(yield func(Description, error) bool) {
		var few []Object
		var bytes int64
		flush := func() bool {
			for _, d := range s.describe(ctx, few) {
				if !yield(d, nil) {
					return false
				}
			}
			few, bytes = few[:0], 0
			return true
		}
		if err := cmp.Or(s.err, ctx.Err()); err != nil {
			yield(Description{}, err)
			return
		}
		for o, err := range s.o.List(ctx, s.prefix()) {
			if err != nil {
				yield(Description{}, err)
				return
			}
			if _, ok := s.sumOf(o.Name); !ok {
				continue
			}
			if len(few) == batchObjects || len(few) > 0 && bytes+o.Size > batchBytes {
				if !flush() {
					return
				}
			}
			few, bytes = append(few, o), bytes+o.Size
		}
		if flush() && ctx.Err() != nil {
			yield(Description{}, ctx.Err())
		}
	}
}

// describe gets some objects.
func (s *Store) describe(ctx context.Context, few []Object) (all []Description) {
	names, of := make([]string, len(few)), make(map[string]Object, len(few))
	for i, o := range few {
		names[i], of[o.Name] = o.Name, o
	}
	s.readMany(ctx, names, func(name string, b []byte, err error) {
		if errors.Is(err, ErrNotFound) || ctx.Err() != nil {
			return // it went meanwhile
		}
		d := Description{Info: s.info(of[name], b, err), Written: of[name].Modified}
		if o, parseErr := parse(b); err == nil && parseErr == nil {
			d.Builder, d.Written = o.builder, o.createdAt()
			if o.signer != nil && ed25519.Verify(o.signer, message(o.raw), o.signature) {
				d.Signer = o.signer
			}
		}
		all = append(all, d)
	})
	return all
}

// FetchSums is [Store.GetMany] for who knows no more of keys than their sums: got gets each sum that
// is asked for, once, with the entry, which holds its recipe, or a *store.MissError.
func (s *Store) FetchSums(ctx context.Context, sums []key.Digest, got func(key.Digest, *store.Entry, error)) {
	of := make(map[string]key.Digest, len(sums))
	var names []string
	for _, sum := range sums {
		name := s.Name(key.Key{Sum: sum})
		if _, twice := of[name]; !twice {
			of[name] = sum
			names = append(names, name)
		}
	}
	s.readMany(ctx, names, func(name string, b []byte, err error) {
		e, err := s.openSum(b, of[name], err)
		got(of[name], e, err)
	})
}

// openSum makes an entry of an object. The sum of a key is over all of it, and the key is worked out
// from the recipe, so that what the head says of it need not be believed.
func (s *Store) openSum(b []byte, sum key.Digest, err error) (*store.Entry, error) {
	var o *object
	if err == nil {
		o, err = parse(b)
	}
	var e *store.Entry
	if err == nil {
		if k := o.key(); o.kind != kindEntry || k.Sum != sum {
			err = fmt.Errorf("%w: %s", errName, k.Short())
		} else {
			e, _, err = s.open(b, k, true)
		}
	}
	if err != nil {
		return nil, s.miss(err)
	}
	return e, nil
}
