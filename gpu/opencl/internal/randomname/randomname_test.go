package randomname

import "testing"

// Words of a variable's value that may be options, to whichever compiler reads it.
func TestHasOption(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"": false, "-": false, "- -": false, "1": false, "-1": false, "-1.5": false, "a-b": false, "x=-g": false,
		"/usr/lib:-x": false, "-_": false, "-@": false, "-[": false,
		"-g": true, "-Z": true, "--": true, "--x": true, "a -cl-opt-disable": true, "a\t-D": true, "a\n-D X": true, "a\v-D": true,
		"'-D N'": true, "x=\"-I\"": true, "-1 -g": true,
	} {
		if got := HasOption(value); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}
