package ctime

import (
	"os"
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

// A change that may have come after a time is none before it.
func TestBefore(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	began := time.Unix(1000, 500_000_000)
	var local bool
	if st, err := os.Stat(path); err == nil {
		local = Before(time.Now().Add(time.Hour), path, 1, st.ModTime().UnixNano(), time.Now().UnixNano())
	}
	if !local {
		t.Skip("NOT RUN: the temporary directory is on no local file system")
	}
	for ago, want := range map[time.Duration]bool{0: false, 5 * time.Millisecond: false, 15 * time.Millisecond: true, -time.Second: false, 500 * time.Millisecond: false, 1500 * time.Millisecond: true} {
		if got := Before(began, path, 1, 0, began.Add(-ago).UnixNano()); got != want {
			t.Errorf("%v before: %v, want %v", ago, got, want)
		}
	}
}
