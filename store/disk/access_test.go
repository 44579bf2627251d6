//go:build linux

package disk

import (
	"os"
	"testing"
	"time"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

func mtime(t *testing.T, path string) time.Time {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.ModTime()
}

// TestUseIsRecorded: unless it was a moment ago, whoever noted that.
func TestUseIsRecorded(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := open(t, func(o *Options) { o.Now = c.now })
	e := storetest.New(t, "e", 100)
	put(t, s, e, store.Stored)
	stored := c.now()
	path := binPath(s, e.Key)
	for i, step := range []struct {
		wait     time.Duration
		recorded bool
	}{
		{accessEvery / 2, false}, {accessEvery / 2, true}, {accessEvery - 1, false}, {time.Hour, true}, {-time.Hour, true}, {0, false},
	} {
		c.add(step.wait)
		before := mtime(t, path)
		wantHit(t, s, e)
		want := before
		if step.recorded {
			want = c.now()
		}
		if got := mtime(t, path); !got.Equal(want) {
			t.Errorf("step %d: used %v after it was stored, recorded %v", i, c.now().Sub(stored), got.Sub(stored))
		}
	}
}
