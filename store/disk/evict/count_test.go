package evict

import "testing"

// TestCorrect: a count makes the account right, unless what others changed while
// it went on explains why they differ.
func TestCorrect(t *testing.T) {
	t.Parallel()
	const at, hour = 1_000_000, 1_000_000 - 23*60*60
	before := slot{bytes: 1000, entries: 10, churn: 5000, counted: 3}
	for name, test := range map[string]struct {
		now  slot
		c    Count
		want slot
	}{
		"nothing changed": {
			before,
			Count{seen: Usage{900, 9}, Complete: true},
			slot{900, 9, 5000, at},
		},
		"it was right": {
			before,
			Count{seen: Usage{1000, 10}, Complete: true},
			slot{1000, 10, 5000, at},
		},
		"a put was seen": {
			slot{1200, 11, 5200, 3},
			Count{seen: Usage{1200, 11}, Complete: true},
			slot{1200, 11, 5200, at},
		},
		"a put was not seen": {
			slot{1200, 11, 5200, 3},
			Count{seen: Usage{1000, 10}, Complete: true},
			slot{1200, 11, 5200, hour},
		},
		"a removal was not seen": {
			slot{700, 7, 5300, 3},
			Count{seen: Usage{1000, 10}, Complete: true},
			slot{700, 7, 5300, hour},
		},
		"more is gone than was changed": {
			slot{1200, 11, 5200, 3},
			Count{seen: Usage{300, 3}, Complete: true},
			slot{300, 3, 5200, soon},
		},
		"who counts removed": {
			before,
			Count{seen: Usage{600, 6}, removed: Usage{400, 4}, Complete: true},
			slot{600, 6, 5400, at},
		},
		"who counts removed what was never counted": {
			slot{0, 0, 0, 0},
			Count{seen: Usage{600, 6}, removed: Usage{400, 4}, Complete: true},
			slot{600, 6, 400, at},
		},
		"who counts removed, and others put": {
			slot{1200, 11, 5200, 3},
			Count{seen: Usage{600, 6}, removed: Usage{400, 4}, Complete: true},
			slot{800, 7, 5600, hour},
		},
		"cut short": {
			before,
			Count{seen: Usage{100, 1}, removed: Usage{400, 4}},
			slot{600, 6, 5400, 3},
		},
		"another account came meanwhile": {
			slot{200, 1, 200, 0},
			Count{seen: Usage{1200, 11}, Complete: true},
			slot{1200, 11, 200, soon},
		},
	} {
		got, c := test.now, test.c
		c.before = before
		if test.now == (slot{}) {
			c.before = slot{}
		}
		c.correct(&got, at)
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
