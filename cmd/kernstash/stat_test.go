package main

import (
	"testing"

	"github.com/kernstash/kernstash/stats"
)

func TestEveryReasonHasWords(t *testing.T) {
	t.Parallel()
	for _, g := range statGroups {
		for c := g.first; c <= g.last; c++ {
			if g.names[c] == "" {
				t.Errorf("%v has no words", c)
			}
		}
	}
	for _, c := range []stats.Counter{stats.MissAbsent, stats.NearestNothing, stats.NotCacheableHeaders} {
		found := false
		for _, g := range statGroups {
			found = found || c >= g.first && c <= g.last
		}
		if !found {
			t.Errorf("%v is never shown", c)
		}
	}
}
