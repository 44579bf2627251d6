package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/kernstash/kernstash/internal/engine/headers"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// Transaction is one request on its way. What it means does not change any more.
type Transaction struct{ groups []*Group }

// Begin works out what a request means: its header files, the groups of equal devices,
// the recipe and the key of each. It looks at files, which may take as long as a file
// system takes to answer. The request's constants and attributes are copied.
func (s *Session) Begin(_ context.Context, r Request) (*Transaction, error) {
	return s.beginWith(r, true)
}

// BeginKnown is Begin where it is known which header files the image reads, and they are
// what they were. Nil: they have to be searched.
func (s *Session) BeginKnown(r Request) (*Transaction, error) { return s.beginWith(r, false) }

func (s *Session) beginWith(r Request, scan bool) (*Transaction, error) {
	id, err := s.ID(&r)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	r = r.Clone()
	if r.Image.files == nil {
		return s.begin(id, r, nil, nil)
	}
	res := s.Resolved(&id, r.Image)
	var meanings []meaning
	if res == nil {
		if res, meanings, err = s.resolve(id, r, scan); err != nil {
			return nil, fmt.Errorf("begin: %w", err)
		}
		if res == nil {
			return nil, nil
		}
	}
	return s.begin(res.ID(), r, res, meanings)
}

// BeginResolved is Begin of a request whose program is known by id, and what it means by
// res: nil if the image reads no files. The request is the engine's.
func (s *Session) BeginResolved(id ID, r Request, res *Resolution) (*Transaction, error) {
	return s.begin(id, r, res, nil)
}

// begin makes the transaction; meanings are nil where they have to be worked out.
func (s *Session) begin(id ID, r Request, res *Resolution, meanings []meaning) (*Transaction, error) {
	t := new(Transaction)
	if s.options.Share {
		s.e.count(stats.MemoryMisses)
	}
	for i, devices := range s.groups(id.Devices) {
		var m meaning
		var err error
		if meanings != nil {
			m = meanings[i]
		} else if m, err = s.mean(devices, r); err != nil {
			return nil, fmt.Errorf("begin: %w", err)
		}
		read := res.group(i)
		if read != nil {
			m = m.with(r, read)
		}
		g := s.newGroup(id, devices, m, read)
		g.first = r.First
		t.groups = append(t.groups, g)
	}
	return t, nil
}

// Groups returns one sub-transaction for each group of equal devices. They are
// independent of each other.
func (t *Transaction) Groups() []*Group { return t.groups }

// Group returns the i-th of them.
func (t *Transaction) Group(i int) *Group { return t.groups[i] }

// Exclusive reports whether the program reads what no key holds, so that only its very
// image may share it.
func (t *Transaction) Exclusive() bool {
	return slices.ContainsFunc(t.groups, func(g *Group) bool {
		return !g.uncacheable.None() && g.uncacheable.Code != reason.NotCacheableSize
	})
}

// Abandon ends all groups that have not ended. See [Group.Abandon].
func (t *Transaction) Abandon() {
	for _, g := range t.groups {
		g.Abandon()
	}
}

// newGroup makes a sub-transaction of a request with an id.
func (s *Session) newGroup(id ID, devices []int, m meaning, read *headers.Set) *Group {
	g := &Group{s: s, what: id.What, job: Job{Devices: devices, Recipe: m.recipe}, uncacheable: m.uncacheable, reading: read}
	if read != nil && read.Uncacheable.None() {
		g.what = read.What
	}
	if m.uncacheable.None() {
		g.job.Key = m.recipe.Key()
	}
	return g
}
