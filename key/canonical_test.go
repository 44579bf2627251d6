package key

import (
	"strings"
	"testing"
)

// Options that a compiler cannot tell apart make one key, and no others do. What is built
// is built with the options as they were given.
func TestOptionsThatAreOneRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"-DA=1 -DB=2", "-DB=2 -DA=1", true},
		{"-D A=1 -DB", "-D B -D A=1", true},
		{"-DA -cl-fast-relaxed-math -DB -O2", "-cl-fast-relaxed-math -O2 -DB -DA", true},
		{"-DA=1 -UB", "-UB -DA=1", true},
		{"-U A -D B", "-UA -DB", true},
		{"-DF(x)=x -DA", "-DA -DF(x)=x", true},
		{"-I/a -DA -I/b", "-DA -I/a -I/b", true},
		{"-DA=1 -DA=2", "-DA=2 -DA=1", false},
		{"-DF(x)=1 -DF=2", "-DF=2 -DF(x)=1", false},
		{"-DA -UA", "-UA -DA", false},
		{"-DA -U A", "-U A -DA", false},
		{"-I/a -I/b", "-I/b -I/a", false},
		{"-cl-std=CL1.2 -cl-mad-enable", "-cl-mad-enable -cl-std=CL1.2", false},
		{"-DA=1", "-DA=2", false},
		{"-DA", "-UA", false},
		{"-DA", "-DB", false},
		{"-DA -DA", "-DA", false},
		{"-x -DA -DB", "-x -DB -DA", false},
		{"-I -DA -DB", "-I -DB -DA", false},
		{"-include -DB -DA", "-include -DA -DB", false},
		{"-DA b -DC", "-DC -DA b", false},
		{"-D -DA -DB", "-D -DB -DA", false},
		{"-DA=\"x -DB", "-DB -DA=\"x", false},
		{"-DB -DA='x", "-DA='x -DB", false},
		{"-g -DA -DB", "-g -DB -DA", false},
		{"-D1 -DA", "-DA -D1", false},
		{"-D", "", false},
		{"-UA=1 -DB", "-DB -UA=1", false},
	} {
		recipe := func(api, options string) *Recipe {
			r := fullRecipe(t)
			r.Device.API, r.Options.Compile = api, strings.Fields(options)
			return r
		}
		if same := recipe("opencl", tt.a).Key() == recipe("opencl", tt.b).Key(); same != tt.same {
			t.Errorf("%q and %q: one key is %v", tt.a, tt.b, same)
		}
		if recipe("compiler", tt.a).Key() == recipe("compiler", tt.b).Key() {
			t.Errorf("%q and %q are one request of another compiler", tt.a, tt.b)
		}
		if got := recipe("opencl", tt.a).Options.CompileString(); !strings.HasSuffix(got, strings.Join(strings.Fields(tt.a), " ")) {
			t.Errorf("%q is built with %q", tt.a, got)
		}
	}
}
