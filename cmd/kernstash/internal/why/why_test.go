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

func TestLine(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000_000, 0)
	never := missed{Key: "3f2a91c0d4e5f6", App: "train.py", At: now.Add(-time.Hour), Times: 1, CostMS: 250, Reason: "miss.absent", Was: ledger.NeverSeen, Nearest: `option "-DN=2" was "-DN=1"`, label: "matmul"}
	changed := never
	changed.App, changed.Reason, changed.Times = "a_program_of_a_long_name", "the compiler refused it, at the end of a long text", 3
	for _, c := range []struct {
		missed missed
		when   bool
		width  int
		want   string
	}{
		{never, false, 0, `3f2a91c0d4e5     250 ms  train.py: matmul  option "-DN=2" was "-DN=1"`},
		{never, true, 0, `3f2a91c0d4e5     250 ms  1 h 00 min ago  train.py: matmul  option "-DN=2" was "-DN=1"`},
		{never, false, 60, `3f2a91c0d4e5     250 ms  train.py: …  option "-DN=2" was "-…`},
		{never, false, 50, `3f2a91c0d4e5     250 ms  train.p…  option "-DN=2"…`},
		{changed, false, 80, `3f2a91c0d4e5     250 ms  a_program_of_a_lo…  the compiler refused it, at the en…`},
		{missed{App: "x", Reason: "not cacheable: date or time", CostMS: 1}, false, 0, `–               1.00 ms  x  not cacheable: date or time`},
	} {
		if got := c.missed.line(now, c.when, c.width); got != c.want {
			t.Errorf("%d columns: %q, want %q", c.width, got, c.want)
		}
	}
}
