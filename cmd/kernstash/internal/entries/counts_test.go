package entries

import (
	"testing"

	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// TestEveryReasonIsShown: a reason that is counted and has no words is a reason
// that nobody sees.
func TestEveryReasonIsShown(t *testing.T) {
	t.Parallel()
	shown := make(map[stats.Counter]bool)
	for _, g := range statGroups {
		for _, r := range g.rows {
			if r.words == "" || shown[r.counter] {
				t.Errorf("%v: no words, or twice", r.counter)
			}
			shown[r.counter] = true
		}
	}
	for c := stats.Of(reason.NotCacheableHeaders); c < stats.NumCounters; c++ {
		if !shown[c] {
			t.Errorf("%v is never shown", c)
		}
	}
}
