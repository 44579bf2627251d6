package kernstash

import (
	"context"
	"errors"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// ahead is what can be done for an artifact before there is one: while its compiler
// is busy. The application may wait for what is left to do after that.
type ahead struct {
	recipe *key.Recipe
	was    key.Digest // see storing
	whole  bool       // the artifact is stored as soon as it is built

	// Written by the storer, which does it before it stores the artifact.
	explained bool
	nearest   store.Difference
	made      bool // directories, for the artifact alone
}

// workAhead has it done for a unit that is about to be compiled because it is not in
// the cache.
func (u *unit[P, K]) workAhead(whole bool) {
	c := u.x.cache
	if !c.writes() || u.key.IsZero() {
		return
	}
	u.ahead = &ahead{recipe: u.job.Recipe, whole: whole}
	if u.tracked != nil {
		u.ahead.was = u.tracked.was
	}
	if !c.storer.addIfIdle(storing{ahead: u.ahead}) {
		u.ahead = nil // it would be done too late, and what waits would be later
	}
}

// forgo undoes it where nobody stores the unit.
func (u *unit[P, K]) forgo() {
	if u.ahead != nil && u.ahead.whole {
		u.x.cache.storer.add(storing{ahead: u.ahead, forgo: true})
		u.ahead = nil
	}
}

// workAhead does it, or undoes it.
func (s *storer) workAhead(ctx context.Context, w storing) {
	a := w.ahead
	if w.forgo {
		s.forgo(ctx, a)
		return
	}
	var err error
	a.nearest, err = s.c.nearest(ctx, a.recipe, a.was)
	a.explained = err == nil
	if p, ok := s.c.written.(store.Preparer); ok {
		a.made = p.Prepare(ctx, a.recipe, a.whole)
	}
}

// nearest asks the store that is written.
func (c *Cache) nearest(ctx context.Context, r *key.Recipe, previous key.Digest) (store.Difference, error) {
	if e, ok := c.written.(store.Explainer); ok {
		return e.Nearest(ctx, r, previous)
	}
	return store.Difference{}, errors.ErrUnsupported
}

// forgo undoes it; a may be nil.
func (s *storer) forgo(ctx context.Context, a *ahead) {
	if a != nil && a.made {
		a.made = false
		s.c.written.(store.Preparer).Abort(ctx, a.recipe)
	}
}
