package rtc_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/needs"
)

// NVRTC starts the search of #include_next anew in a file that was found beside its includer.
// A header file that appears anywhere on the way is a miss, and what is found is what NVRTC makes.
func TestIncludeNextBeside(t *testing.T) {
	t.Parallel()
	for _, l := range nvrtcs(t) {
		major, minor := l.Version()
		for _, name := range []string{"<z.h>", `"z.h"`} {
			t.Run(fmt.Sprintf("%d.%d/%s", major, minor, name[1:4]+name[:1]), func(t *testing.T) {
				t.Parallel()
				tree, dir := t.TempDir(), cacheDir(t)
				r := rtc.Request{
					Source: []byte("#define Z 0\n#include <x.h>\nextern \"C\" __global__ void k(int *p) { *p = Z; }\n"), Name: "a.cu",
					Options: []string{"-I" + tree + "/a", "-I" + tree + "/b", "-I" + tree + "/c"},
				}
				for _, sub := range []string{"a", "b/sub", "c"} {
					if err := os.MkdirAll(filepath.Join(tree, sub), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				write(t, filepath.Join(tree, "b/x.h"), "#include \"sub/y.h\"\n")
				write(t, filepath.Join(tree, "b/sub/y.h"), "#include_next "+name+"\n")
				made := make(map[string]bool)
				beside := miss
				if name[0] == '<' {
					beside = "" // a hit: nobody looks for it there
				}
				for i, appears := range []struct{ file, then string }{{"c/z.h", miss}, {"b/z.h", miss}, {"a/z.h", miss}, {"b/sub/z.h", beside}} {
					write(t, filepath.Join(tree, appears.file), fmt.Sprintf("#undef Z\n#define Z %d\n", 4711+i))
					bare, _ := served(t, l, cacheDir(t), r)
					want, _ := bare.Get(rtc.PTX)
					made[string(want)] = true
					for n, reason := range []string{appears.then, ""} {
						o, why := served(t, l, dir, r)
						if why != reason {
							t.Errorf("%s, process %d: %q, want %q", appears.file, n, why, reason)
						}
						if got, _ := o.Get(rtc.PTX); !bytes.Equal(got, want) {
							t.Errorf("%s, process %d: not what NVRTC makes now", appears.file, n)
						}
					}
				}
				if len(made) != 3 {
					t.Errorf("%d results, want those of c, b and a: NVRTC looks beside no file for what is next", len(made))
				}
			})
		}
	}
}

// Programs that include headers of CUDA's toolkit are stored.
func TestHeadersOfToolkit(t *testing.T) {
	t.Parallel()
	include := filepath.Join(needs.CUDA(t), "include")
	l, err := newer()
	if err != nil {
		t.Fatal(err)
	}
	dir := cacheDir(t)
	c, cache := compiler(t, l, dir)
	again, cacheAgain := compiler(t, l, dir)
	for _, header := range []string{
		"cooperative_groups.h", "cooperative_groups/reduce.h", "cuda_bf16.h", "cuda_fp8.h", "mma.h", "cuda/std/complex", "cuda/std/tuple", "cuda/barrier", "cuda/ptx", "nv/target",
	} {
		r := rtc.Request{
			Source: fmt.Appendf(nil, "#include <%s>\nextern \"C\" __global__ void k(int *p) { *p = 1; }\n", header), Name: "a.cu",
			Options: []string{"-std=c++17", "-arch=sm_90", "-I" + include},
		}
		if _, why := servedBy(t, c, cache, r); why != miss {
			t.Errorf("%s: %q", header, why)
		}
		if _, why := servedBy(t, again, cacheAgain, r); why != "" {
			t.Errorf("%s again: %q", header, why)
		}
	}
}
