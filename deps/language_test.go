//go:build linux || darwin

package deps

import (
	"strings"
	"testing"

	"github.com/kernstash/kernstash/key"
)

// What a text means depends on the language: where a raw string ends, and which macros
// the compiler has. A header that is included behind what compilers may read differently
// is found, or makes the unit uncacheable.
func TestTextsByLanguage(t *testing.T) {
	t.Parallel()
	const hidden = "auto s = R\"(\";\n#include \"x.h\"\nauto t = \")\";\n"
	tests := []struct {
		name    string
		kind    key.Kind
		options string
		header  string // a.h, which includes x.h or does not
		reads   bool   // x.h
		reason  string
	}{
		{"NVRTC 11 knows no raw string", key.CUDACpp, "", hidden, false, "a raw string"},
		{"nor with C++03", key.CUDACpp, "-std=c++03", hidden, false, "a raw string"},
		{"nor where a later option takes it back", key.CUDACpp, "--std=c++17 -std=gnu++98", hidden, false, "a raw string"},
		{"nor by a macro's word", key.CUDACpp, "-DX=c++17", hidden, false, "a raw string"},
		{"a raw string of C++11", key.CUDACpp, "-std=c++11", hidden, false, ""},
		{"a raw string of C++17", key.CUDACpp, "--std c++17", hidden, false, ""},
		{"a raw string of C++20", key.CUDACpp, "--std=c++20", hidden, false, ""},
		{"a standard to come", key.CUDACpp, "--std=c++32", hidden, false, "a raw string"},
		{"HIPRTC's raw string", key.HIPCpp, "", hidden, false, ""},
		{"HIPRTC's old language", key.HIPCpp, "-std=c++98", hidden, false, "a raw string"},
		{"no raw string in OpenCL", key.OpenCLC, "", hidden, false, "a raw string"},
		{"a line that is joined in a raw string", key.HIPCpp, "", "auto s = R\"(\n)\\\n\" \n#include \"x.h\"\n)\";\n", false, "a raw string"},
		{"a line that is joined before its text", key.HIPCpp, "", "auto s = R\\\n\"(\n)\" \n#include \"x.h\"\n", false, "a raw string"},
		{"a line that is joined before the raw string", key.HIPCpp, "", "#define A \\\n1\nauto s = R\"(\n)\";\n#include \"x.h\"\n", true, ""},
		{"a carriage return that ends a comment, or not", key.CUDACpp, "", "// \r/*\n#include \"x.h\"\n// */\n", false, "a carriage return"},
		{"one that ends a comment to clang", key.HIPCpp, "", "// \r/*\n#include \"x.h\"\n// */\n", false, ""},
		{"one that ends an include to clang", key.OpenCLC, "", "// \r#include \"x.h\"\r", true, ""},
		{"one before each line feed", key.CUDACpp, "", "// /*\r\n#include \"x.h\"\r\n", true, ""},
		{"HIPRTC's own macros", key.HIPCpp, "", "#define S_(x) #x\n#define S(x) S_(x)\n#include S(x.h)\n#include S(HIP_VERSION_MAJOR.h)\n", false, "cannot be expanded"},
		{"and which a source defines too", key.HIPCpp, "", "#ifndef HIP_VERSION_MAJOR\n#define HIP_VERSION_MAJOR x\n#endif\n#define S_(x) #x\n#define S(x) S_(x)\n#include S(HIP_VERSION_MAJOR.h)\n", false, "cannot be expanded"},
		{"a macro of one's own", key.HIPCpp, "", "#define S_(x) #x\n#define S(x) S_(x)\n#include S(x.h)\n", true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, map[string]string{"a.h": tt.header, "x.h": "", "5.h": ""})
			u := key.Unit{Kind: tt.kind, Code: []byte("#include \"a.h\"\n")}
			got, r := Track(u, strings.Fields(tt.options), Search{Dir: dir, Main: dir})
			if tt.reason != "" {
				if !strings.Contains(r.Detail, tt.reason) {
					t.Errorf("reason %v, want %s", r, tt.reason)
				}
				return
			}
			if !r.None() {
				t.Fatal(r)
			}
			if reads := len(got.Unit.Files) == 2; reads != tt.reads {
				t.Errorf("files %+v", got.Unit.Files)
			}
		})
	}
}
