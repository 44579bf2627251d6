package safefs

import (
	"strconv"
	"testing"
)

func TestMapsAll(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"         0          0 4294967295\n": true,
		"         0       1000          1\n": false,
		"":                                   false,
		"         0       1000          1\n 1 100000 65536\n":    false,
		"         0          0 65536\n 65536 65536 4294901759\n": false, // would do, but who knows
		"         0          0 4294967295\n 5 5 1\n":             false,
		"         1          1 4294967294\n":                     false,
		strconv.Itoa(0) + " 100000 4294967295":                   false,
	} {
		if got := mapsAll(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
