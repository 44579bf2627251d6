package rtc

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnknownFunctions: a library that has a function of its prefix that nobody knows is told by that function's name.
func TestUnknownFunctions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		api       API
		functions string // of the library
		want      []string
	}{
		"libnvvm 12.4": {LibNVVM, "__nvvmHandle nvvmVersion nvvmLazyAddModuleToProgram nvvmDisableConcurrentAPI", nil},
		"libnvvm 13.0": {LibNVVM, "__nvvmHandle __nvvmHandleTarget nvvmVersion nvvmLLVMVersion nvvmGetProgramLogSize", nil},
		"libnvvm of the future": {
			LibNVVM, "__nvvmHandle __nvvmHandleOther nvvmVersion nvvmGetCompiledResults memcmp2",
			[]string{"__nvvmHandleOther", "nvvmGetCompiledResults"},
		},
		"nvJitLink 13.0":          {NVJitLink, "nvJitLinkVersion __nvJitLinkCreate_13_0 nvJitLinkGetLinkedCubin", nil},
		"nvJitLink of the future": {NVJitLink, "nvJitLinkVersion __nvJitLinkCreate_14_0", []string{"__nvJitLinkCreate_14_0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "library.so")
			cc := exec.Command("sh", "-c", `for f in $2; do echo "void $f(void) {}"; done | cc -shared -nostdlib -x c -o "$1" -`, "sh", path, c.functions)
			if out, err := cc.CombinedOutput(); err != nil {
				t.Fatalf("cc: %v: %s", err, out)
			}
			got, err := unknownFunctions(path, dialectOf(c.api).prefix, knownFunctions[c.api]())
			slices.Sort(got)
			if d := cmp.Diff(c.want, got); err != nil || d != "" {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}
