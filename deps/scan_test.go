package deps

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

func TestScan(t *testing.T) {
	t.Parallel()
	const none = stats.Counter(0)
	tests := []struct {
		name, src string
		includes  []string
		reason    stats.Counter
	}{
		{"nothing", "kernel void k() {}", nil, none},
		{"quoted", `#include "a.h"`, []string{"a.h"}, none},
		{"angled", "  #  include <b/c.h>\n", []string{"b/c.h"}, none},
		{"spaces and comments", "/* x */ # /* y */ include /* z */ \"a.h\"", []string{"a.h"}, none},
		{"continued", "#inc\\\nlude \\\r\n\"a.h\"", []string{"a.h"}, none},
		{"digraph", "%:include \"a.h\"", []string{"a.h"}, none},
		{"trigraph", "??=include \"a.h\"", []string{"a.h"}, none},
		{"byte order mark", "\xef\xbb\xbf#include \"a.h\"", []string{"a.h"}, none},
		{"carriage returns", "int a;\r#include \"a.h\"\r", []string{"a.h"}, none},
		{"NUL is white space", "#\x00include \"a.h\"", []string{"a.h"}, none},
		{"two on two lines", "#include \"a.h\"\n#include <b.h>", []string{"a.h", "b.h"}, none},
		{"skipped by a condition", "#if 0\n#include \"a.h\"\n#endif", []string{"a.h"}, none},
		{"block comment", "/*\n#include \"a.h\"\n*/", nil, none},
		{"line comment", "// #include \"a.h\"\n", nil, none},
		{"comment opened in a string", "char *s = \"/*\";\n#include \"a.h\"\n// */", []string{"a.h"}, none},
		{"comment opened in a character", "int c = '/*';\n#include \"a.h\"\n// */", []string{"a.h"}, none},
		{"apostrophe in text", "#error don't\n#include \"a.h\"", []string{"a.h"}, none},
		{"quote in a character", "char c = '\"';\n#include \"a.h\"", []string{"a.h"}, none},
		{"escaped quote", "char *s = \"\\\"/*\";\n#include \"a.h\"", []string{"a.h"}, none},
		{"digit separator", "int n = 1'0; /*\n*/\n#include \"a.h\"", []string{"a.h"}, none},
		{"not at the start of a line", "x #include \"a.h\"", nil, none},
		{"stringised", "#define S(x) #x", nil, none},
		{"in a string", "char *s = \"#include\";", nil, none},
		{"computed", "#define H \"a.h\"\n#include H", nil, stats.NotCacheableHeaders},
		{"computed with a call", "#include M2S(INCLUDE_PATH/inc_vendor.h)", nil, stats.NotCacheableHeaders},
		{"include_next", "#include_next <a.h>", nil, stats.NotCacheableHeaders},
		{"import", "#import \"a.h\"", nil, stats.NotCacheableHeaders},
		{"embed", "#embed \"a.bin\"", nil, stats.NotCacheableHeaders},
		{"empty name", "#include \"\"", nil, stats.NotCacheableHeaders},
		{"unterminated name", "#include \"a.h\n", nil, stats.NotCacheableHeaders},
		{"has_include", "#if __has_include(<a.h>)\n#endif", nil, stats.NotCacheableHeaders},
		{"raw string", "auto s = R\"(\n*/ /* )\";\n#include \"a.h\"", nil, stats.NotCacheableHeaders},
		{"raw string alone", "auto s = R\"(x)\";\n", nil, none},
		{"trigraph continuation", "// ??/\n#include \"a.h\"", []string{"a.h"}, stats.NotCacheableHeaders},
		{"blanks after a backslash", "// \\ \n#include \"a.h\"", nil, stats.NotCacheableHeaders},
		{"pragma dependency", "#pragma GCC dependency \"a.h\"", nil, stats.NotCacheableHeaders},
		{"pragma unroll", "#pragma unroll 4", nil, none},
		{"date", "char *d = __DATE__;", nil, stats.NotCacheableTime},
		{"time behind a define", "#define T __TIME__", nil, stats.NotCacheableTime},
		{"timestamp", "__TIMESTAMP__", nil, stats.NotCacheableTime},
		{"date in a comment", "// __DATE__", nil, none},
		{"a longer name", "int my__DATE__x;", nil, none},
		{"incbin", "asm(\".incbin \\\"x\\\"\");", nil, stats.NotCacheableFile},
		{"unterminated comment", "/* #include \"a.h\"", nil, none},
		{"ends in a backslash", "int a; \\", nil, none},
		{"ends in a quote", "char c = '", nil, none},
		{"ends in a hash", "#", nil, none},
		{"ends in a digit quote", "1'", nil, none},
		{"empty", "", nil, none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Scan([]byte(tt.src))
			if diff := cmp.Diff(tt.includes, got.Includes); diff != "" {
				t.Errorf("includes (-want +got):\n%s", diff)
			}
			if got.Reason.Counter != tt.reason {
				t.Errorf("reason %v, want %v", got.Reason, tt.reason)
			}
		})
	}
}

func TestScanUnit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		unit key.Unit
		want stats.Counter
	}{
		{"SPIR-V is not looked at", key.Unit{Kind: key.SPIRV, Code: []byte("#include <a.h>")}, 0},
		{"a file", key.Unit{Kind: key.OpenCLC, Code: []byte("#include <a.h>")}, stats.NotCacheableHeaders},
		{"given in memory", key.Unit{
			Kind: key.OpenCLC, Code: []byte("#include <a.h>"),
			Headers: []key.Header{{Name: "a.h", Content: []byte("#include \"b.h\"")}, {Name: "b.h", Content: []byte("int b;")}},
		}, 0},
		{"a given header reads a file", key.Unit{
			Kind: key.OpenCLC, Code: []byte("#include <a.h>"),
			Headers: []key.Header{{Name: "a.h", Content: []byte("#include \"c.h\"")}},
		}, stats.NotCacheableHeaders},
		{"a given header tells the time", key.Unit{
			Kind: key.OpenCLC, Code: []byte("#include <a.h>"),
			Headers: []key.Header{{Name: "a.h", Content: []byte("__TIME__")}},
		}, stats.NotCacheableTime},
		{"a file of that name is here", key.Unit{
			Kind: key.OpenCLC, Code: []byte("#include \"scan.go\""),
			Headers: []key.Header{{Name: "scan.go", Content: []byte("int b;")}},
		}, stats.NotCacheableHeaders},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := ScanUnit(tt.unit); got.Counter != tt.want {
				t.Errorf("ScanUnit = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestScanOptions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		options string
		want    stats.Counter
		path    bool
	}{
		{"", 0, false},
		{"-DN=4 -cl-fast-relaxed-math -cl-std=CL1.2 -O2 -g", 0, false},
		{"-I /usr/include -DX", 0, true},
		{"-I/usr/include", 0, true},
		{"-include a.h", stats.NotCacheableHeaders, false},
		{`"-include" a.h`, stats.NotCacheableHeaders, false},
		{"@file", stats.NotCacheableHeaders, false},
		{"-DNOW=__TIME__", stats.NotCacheableTime, false},
		{"-save-temps=/tmp/x", stats.NotCacheableOptions, false},
		{"-MD", stats.NotCacheableOptions, false},
		{"-cl-opt-disable -optimize", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.options, func(t *testing.T) {
			t.Parallel()
			got, path := ScanOptions(key.Tokens(tt.options))
			if got.Counter != tt.want || path != tt.path {
				t.Errorf("ScanOptions = %v, %v; want %v, %v", got, path, tt.want, tt.path)
			}
		})
	}
}

// FuzzScan: an include that stands plainly on a line of its own, behind
// anything that closes what it opened, is never missed.
func FuzzScan(f *testing.F) {
	f.Add("int a;")
	f.Add("/* \" */ 'x' \"y\" // z")
	f.Add("R\"x(")
	f.Add("'\\")
	f.Fuzz(func(t *testing.T, before string) {
		got := Scan([]byte(before + "\n#include \"the.h\"\n"))
		if strings.Contains(before, "/*") || strings.HasSuffix(strings.TrimRight(before, " \t\v\f\x00\r"), "\\") {
			return // may comment it out, or continue into it
		}
		for _, name := range got.Includes {
			if name == "the.h" {
				return
			}
		}
		if got.Reason.None() {
			t.Errorf("missed the include behind %q", before)
		}
	})
}
