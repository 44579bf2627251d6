//go:build linux || darwin

package deps

import (
	"testing"

	"github.com/kernstash/kernstash/key"
)

// A macro that leads to a header's, which asks for a file, asks for it: one of the options,
// and one that pastes its name.
func TestMacrosThatAsk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ source, option string }{
		{"#include <h.h>\n#if ASK\n#endif\n", "-DASK=THERE"},
		{"#include <h.h>\n#define ASKS ASK\n#if ASKS\n#endif\n", "-DASK=THERE"},
		{"#include <h.h>\n#if ASK(THERE)\n#endif\n", "-DASK(x)=x"},
		{"#include <h.h>\n#define CAT(a, b) a##b\n#if CAT(THE, RE)\n#endif\n", "-DN"},
	} {
		for _, kind := range []key.Kind{key.CUDACpp, key.OpenCLC} {
			dir := tree(t, map[string]string{"h.h": "#define THERE __has_include(<x.h>)\n"})
			got, r := Track(key.Unit{Kind: kind, Code: []byte(c.source)}, []string{c.option, "-I" + dir}, Search{Dir: dir, Main: dir})
			write(t, dir+"/x.h", "")
			if r.None() && got.Manifest.Changed() != dir+"/x.h" {
				t.Errorf("%q %s: tracked without x.h", c.source, c.option)
			}
		}
	}
}
