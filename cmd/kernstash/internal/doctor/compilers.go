package doctor

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/gpu/tool"
)

// others are compilers of no runtime that is served.
var others = []tool.Compiler{
	{Files: []string{"libtriton.so"}, Name: "Triton", Text: "not served: it keeps its own cache (TRITON_CACHE_DIR)"},
	{
		Files: []string{"nvcc", "cicc", "hipcc", "ocloc", "dpcpp", "icpx"}, Name: "compiler, as a program",
		Text: "not served: ccache and sccache are for those",
	},
}

// compilerOf returns what a file is, by its name. Of several that fit the longest decides.
func compilerOf(path string) (c tool.Compiler, ok bool) {
	all := others
	for _, rt := range runtimes.All {
		all = slices.Concat(all, rt.Compilers)
	}
	name, longest := filepath.Base(path), 0
	for _, known := range all {
		for _, f := range known.Files {
			// A program's name is whole, a library's goes on with its version.
			library := strings.Contains(f, ".so") || strings.Contains(f, "_") || strings.HasPrefix(f, "lib")
			if (name == f || library && strings.HasPrefix(name, f)) && len(f) > longest {
				c, longest, ok = known, len(f), true
			}
		}
	}
	return c, ok
}
