package kernstash

import (
	"context"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk"
)

// ahead is what can be done for an artifact before there is one: while its compiler
// is busy. The application may wait for what is left to do after that.
type ahead struct {
	key    key.Key
	recipe *key.Recipe
	was    key.Digest // see storing

	// Written by the storer, which does it before it stores the artifact.
	explained bool
	nearest   disk.Difference
}

// workAhead has it done for a unit that is about to be compiled because it is not in
// the cache.
func (u *unit[P, K]) workAhead(c *Cache) {
	if !c.writes() || u.key.IsZero() {
		return
	}
	u.ahead = &ahead{key: u.key, recipe: u.job.Recipe}
	if u.tracked != nil {
		u.ahead.was = u.tracked.was
	}
	c.storer.add(storing{ahead: u.ahead})
}

// workAhead does it.
func (s *storer) workAhead(ctx context.Context, a *ahead) {
	s.c.disk.Ready(ctx, a.key)
	var err error
	a.nearest, err = s.c.disk.Nearest(ctx, a.recipe, a.was)
	a.explained = err == nil
}
