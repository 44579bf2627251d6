package pocl

import "testing"

// What is launched without work-items is not executed: no code is made for it.
func TestNoteOfNothing(t *testing.T) {
	t.Parallel()
	size := func(x, y, z uintptr) *[3]uintptr { return &[3]uintptr{x, y, z} }
	var l Launches
	for _, c := range []struct {
		global, local *[3]uintptr
		want          string
	}{
		{size(0, 1, 1), nil, ""},
		{size(8, 0, 1), nil, ""},
		{size(0, 0, 0), size(8, 1, 1), ""},
		{size(8, 1, 1), size(0, 1, 1), ""},
		{size(8, 1, 1), size(0, 0, 0), ""},
		{size(8, 1, 1), nil, "k/auto-8-1-1-goffs0-smallgrid"},
		{size(8, 1, 1), size(4, 1, 1), "k/4-1-1-goffs0-smallgrid"},
	} {
		if got := l.Note("k", c.global, c.local, nil); got != c.want {
			t.Errorf("global %v, local %v: %q, want %q", c.global, c.local, got, c.want)
		}
	}
}
