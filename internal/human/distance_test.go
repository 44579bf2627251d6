package human

import "testing"

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "ab", 2},
		{"stat", "stat", 0},
		{"stats", "stat", 1},
		{"sta", "stat", 1},
		{"slat", "stat", 1},
		{"tsat", "stat", 1},
		{"disabel", "disable", 1},
		{"kitten", "sitting", 3},
		{"ca", "abc", 3},
	} {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q, %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := Distance(tt.b, tt.a); got != tt.want {
			t.Errorf("%q, %q: %d, want %d", tt.b, tt.a, got, tt.want)
		}
	}
}
