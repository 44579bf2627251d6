package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestCompletionsOfRuntimes: the shells offer runtimes and architectures.
func TestCompletionsOfRuntimes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"demo", "--runtime", "l"}, "levelzero"},
		{[]string{"demo", "--runtime", ""}, "cuda"},
		{[]string{"build", "--runtime", "n"}, "nvrtc"},
		{[]string{"build", "--arch", "gfx"}, "gfx90a"},
		{[]string{"build", "--arch", "compute_"}, "compute_90"},
	} {
		var out, errs bytes.Buffer
		run(append([]string{"__complete"}, tt.args...), strings.NewReader(""), &out, &errs)
		if !strings.Contains("\n"+out.String(), "\n"+tt.want+"\n") {
			t.Errorf("%q: %s is not offered: %q", tt.args, tt.want, out.String())
		}
	}
}
