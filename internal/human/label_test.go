package human

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCutLabel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		label, want string
		n           int
	}{
		{"", "", 0},
		{"a, b", "a, b", 4},
		{"alpha, beta, gamma, delta", "alpha, beta, … 2 more", 24}, // "alpha, beta, gamma, … 1 more" has 29 bytes
		{"alpha, beta, gamma, delta", "alpha, … 3 more", 17},
		{"alpha, beta, gamma, delta", "a…, … 3 more", 16},
		{"alpha, beta, … 7 more", "alpha, … 8 more", 20}, // cut again
		{"äöüäöü", "äö…", 7},
		{"äöüäöü", "äö…", 8},
		{"12345678 bytes", "123…", 6},
		{"alpha, beta", "", 2},
	} {
		got := CutLabel(tt.label, tt.n)
		if got != tt.want || len(got) > tt.n {
			t.Errorf("%q in %d bytes: %q, want %q", tt.label, tt.n, got, tt.want)
		}
	}
}

func TestReadLabel(t *testing.T) {
	t.Parallel()
	type read struct {
		Kernels []string
		More    int
		Size    int64
	}
	for label, want := range map[string]read{
		"":                       {},
		"a":                      {Kernels: []string{"a"}},
		"a, b, … 12 more":        {Kernels: []string{"a", "b"}, More: 12},
		"a, b…":                  {Kernels: []string{"a", "b…"}}, // of older versions
		"a, … x more":            {Kernels: []string{"a", "… x more"}},
		Label(nil, 1):            {Size: 1},
		Label(nil, 4096):         {Size: 4096},
		Label([]string{"k"}, 12): {Kernels: []string{"k"}},
		"many bytes":             {Kernels: []string{"many bytes"}},
	} {
		var got read
		got.Kernels, got.More, got.Size = ReadLabel(label)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q:\n%s", label, diff)
		}
	}
}
