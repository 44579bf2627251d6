package kernstash

import (
	"bytes"
	"context"
	"log/slog"
	"slices"

	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// writes says whether there is a disk tier that may be written.
func (c *Cache) writes() bool { return c.written != nil && c.settings.Mode != settings.ModeReadOnly }

// serves says whether the stores are asked for a unit. In mode observe it looks
// what they would have served.
func (x *Context[P, K]) serves(ctx context.Context, u *unit[P, K]) bool {
	c := x.cache
	switch c.settings.Mode {
	case settings.ModeRefresh:
		u.missed = reason.MissRefresh
		c.countMiss(u.missed)
		return false
	case settings.ModeObserve:
		entry, _, why := c.find(ctx, u.key)
		if entry == nil {
			u.missed = why
			c.countMiss(why)
			return false
		}
		u.missed = reason.ObserveHits
		c.stats.Add(stats.Of(reason.ObserveHits), 1)
		on(c.trace.disk, func(l *slog.Logger) { l.Debug("would have hit", "key", u.key.Short()) })
		u.observed = &observed{stored: entry.Artifact}
		return false
	}
	return true
}

// observed is what mode observe found for a unit.
type observed struct {
	stored *store.Artifact // until it was compared
}

// keep hands an entry to the storer, and takes the build lock over. In mode
// observe nothing is written over: an entry that is there is compared.
func (x *Context[P, K]) keep(u *unit[P, K], e *store.Entry, explain bool, unlock func()) {
	c := x.cache
	if u.observed == nil {
		c.storer.add(u.storing(e, explain, unlock))
		return
	}
	if unlock != nil {
		unlock()
	}
	stored := u.observed.stored
	if stored == nil {
		return // a later capture
	}
	u.observed.stored = nil
	verdict := compare(e.Artifact, stored)
	if u.decision != nil {
		u.decision.Observed = string(verdict)
	}
	switch verdict {
	case equal:
		c.stats.Add(stats.ObserveEqual, 1)
	case different:
		c.stats.Add(stats.ObserveDifferent, 1)
	}
	on(c.trace.disk, func(l *slog.Logger) {
		l.Info("observed", "key", u.key.Short(), "program", u.label(), "verdict", string(verdict))
	})
}

// verdict is what comparing two artifacts of one key says.
type verdict string

const (
	equal        verdict = "equal"
	different    verdict = "different"
	incomparable verdict = "incomparable"
)

// compare compares the forms that two artifacts have in common. Those of a
// driver that makes code at launches say something only if they are ready for
// the same launches.
func compare(a, b *store.Artifact) verdict {
	v := incomparable
	for _, one := range a.Binaries {
		for _, other := range b.Binaries {
			if one.Form != other.Form || one.Form == store.FormDeferred && !slices.Equal(a.Variants, b.Variants) {
				continue
			}
			if !bytes.Equal(one.Data, other.Data) {
				return different
			}
			v = equal
		}
	}
	return v
}
