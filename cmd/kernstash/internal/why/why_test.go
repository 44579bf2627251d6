package why

import (
	"testing"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/store"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000_000, 0)
	for _, c := range []struct {
		missed missed
		want   string
	}{
		{missed{Reason: "miss.absent", Was: ledger.NeverSeen, Nearest: store.NothingNear}, "never seen"},
		{missed{Reason: "miss.absent", Was: ledger.NeverSeen, Nearest: `driver "3.1" was "3.0"`}, `never seen; the nearest entry: driver "3.1" was "3.0"`},
		{missed{Reason: "miss.absent", Was: "evicted", Gone: now.Add(-time.Hour), Nearest: "option -DN=1"}, "evicted 1 h 00 min ago"},
		{missed{Reason: "miss.absent", Was: ledger.NotKept}, "seen before, but not kept"},
		{missed{Reason: "miss.absent", Was: ledger.NotKept, Unbuilt: "a worker gave it up"}, "seen before, but not kept; a worker gave it up"},
		{missed{Reason: "miss.digest"}, "its entry was damaged"},
		{missed{Reason: "the compiler refused it"}, "the compiler refused it"},
		{
			missed{Reason: "not cacheable: cheap to build (min-build-time is 100ms)", Was: ledger.NotKept, CostMS: 80, Times: 2},
			"not cacheable: cheap to build (min-build-time is 100ms); it was built in 40.0 ms: a lower min-build-time keeps it ('kernstash config' says who set that)",
		},
	} {
		if got := c.missed.explain(now); got != c.want {
			t.Errorf("%+v: %q, want %q", c.missed, got, c.want)
		}
	}
}
