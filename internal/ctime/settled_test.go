package ctime

import (
	"testing"
	"time"
)

// A change shows three seconds after the last one, in both times.
func TestSettled(t *testing.T) {
	t.Parallel()
	const second = int64(time.Second)
	now := time.Unix(1000, 0)
	for _, c := range []struct {
		mtime, ctime int64
		want         bool
	}{
		{900 * second, 900 * second, true},
		{997 * second, 997 * second, true},
		{997*second + 1, 900 * second, false},
		{900 * second, 997*second + 1, false},
		{1000 * second, 1000 * second, false},
		{2000 * second, 900 * second, false}, // of the future
	} {
		if got := Settled(now, c.mtime, c.ctime); got != c.want {
			t.Errorf("%d, %d: %v, want %v", c.mtime, c.ctime, got, c.want)
		}
	}
}
