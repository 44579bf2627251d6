package scan

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/deps/internal/macro"
	"github.com/kernstash/kernstash/reason"
)

func TestScan(t *testing.T) {
	t.Parallel()
	const none = reason.Reason(0)
	tests := []struct {
		name, src string
		includes  []string
		why       reason.Reason
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
		{"digit separator", "int n = 1'0; /*\n*/\n#include \"a.h\"", []string{"a.h"}, reason.NotCacheableHeaders},
		{"digit separators on a line of their own", "long n = 0x7FFF'FFFF'FFFF'FFFF + 1'0; // ten\n#include \"a.h\"", []string{"a.h"}, none},
		{"digit separator before a string", "f(1'0, \"\");\n#include \"a.h\"", []string{"a.h"}, reason.NotCacheableHeaders},
		{"digit separator before a character", "f(1'0, 'a');", nil, reason.NotCacheableHeaders},
		{"digit separator before a quote in a comment", "int n = 1'0; // don't /*\n#include \"a.h\"", []string{"a.h"}, reason.NotCacheableHeaders},
		{"quote behind a number that separates no digits", "int n = 1';\n#include \"a.h\"", []string{"a.h"}, reason.NotCacheableHeaders},
		{"time behind a digit separator", "int n = 1'0; char *s = __TIME__;", nil, reason.NotCacheableTime},
		{"a quote that is none in C", "#define Z 1'a'\"'/*\"\n#include \"a.h\"\n//*/", nil, reason.NotCacheableHeaders},
		{"not at the start of a line", "x #include \"a.h\"", nil, none},
		{"stringised", "#define S(x) #x", nil, none},
		{"in a string", "char *s = \"#include\";", nil, none},
		{"computed", "#define H \"a.h\"\n#include H", []string{"H"}, none},
		{"computed with a call", "#include M2S(INCLUDE_PATH/inc_vendor.h)", []string{"M2S(INCLUDE_PATH/inc_vendor.h)"}, none},
		{"include_next", "#include_next <a.h>", []string{"a.h"}, none},
		{"import", "#import \"a.h\"", []string{"a.h"}, none},
		{"embed", "#embed \"a.bin\"", nil, reason.NotCacheableHeaders},
		{"empty name", "#include \"\"", nil, reason.NotCacheableHeaders},
		{"unterminated name", "#include \"a.h\n", nil, reason.NotCacheableHeaders},
		{"has_include", "#if __has_include(<a.h>)\n#endif", []string{"a.h"}, none},
		{"has_include in a definition", "#define H(x) __has_include(x)", nil, none},
		{"has_include asked for", "#ifdef __has_include\n#if defined(__has_include) && defined __has_include\n#endif\n#endif", nil, none},
		{"has_include without an argument", "#if F(__has_include, <a.h>)\n#endif", nil, reason.NotCacheableHeaders},
		{"has_include in two lines", "#if __has_include( /*\n*/ <a.h> )\n#endif", []string{"a.h"}, none},
		{"has_include of two", "#if __has_include(<a.h> <b.h>)\n#endif", []string{"a.h"}, reason.NotCacheableHeaders},
		{"has_include computed", "#if __has_include(M(a))\n#endif", []string{"M(a))"}, none},
		{"a name that hides a comment", "#if 0\n#include <'> /*'\n#endif\n#include \"a.h\"\n/* */", []string{"'"}, reason.NotCacheableHeaders},
		{"a name that is a comment", "#if 0\n#include <b//c> /*\n#endif\n#include \"a.h\"\n/* */", []string{"b//c"}, reason.NotCacheableHeaders},
		{"a name that opens a comment", "#include <b/*c>\nchar *s = \" */\n#include \"a.h\"", []string{"b/*c", "a.h"}, reason.NotCacheableHeaders},
		{"a name asked for that hides a comment", "#if 1\n#elif __has_include(<'>) /*'\n#endif\n#include \"a.h\"\n/* */", []string{"'"}, reason.NotCacheableHeaders},
		{"a name with a quote", "#include <it's.h> // x\n#include <b//c.h> /* d */\n#include \"a.h\"", []string{"it's.h", "b//c.h", "a.h"}, none},
		{"has_embed", "#if __has_embed(\"a.bin\")\n#endif", nil, reason.NotCacheableHeaders},
		{"header unit", "import <a.h>;", nil, reason.NotCacheableHeaders},
		{"a variable called import", "import = 1; x = import;", nil, none},
		{"form feed in a name", "#include \"a\fh\"", nil, reason.NotCacheableHeaders},
		{"NUL in a name", "#include \"a\x00h\"", nil, reason.NotCacheableHeaders},
		{"backslash in a name", "#include \"a\\b.h\"", nil, reason.NotCacheableHeaders},
		{"open comment behind include", "#include /*", []string{""}, none},
		{"raw string", "auto s = R\"(\n*/ /* )\";\n#include \"a.h\"", nil, reason.NotCacheableHeaders},
		{"raw string alone", "auto s = R\"(x)\";\n", nil, reason.NotCacheableHeaders},
		{"raw string that hides a comment", "auto s = R\"(\" /* )\";\n/* */ #include \"x.h\"\n", nil, reason.NotCacheableHeaders},
		{"raw string before a hash", "auto s = u8R\"(\n\" /* )\"; \n# /**/ include \"x.h\"\n// */\n", []string{"x.h"}, reason.NotCacheableHeaders},
		{"an identifier that ends in R", "auto s = FLOOR\"x\";\n", nil, none},
		{"trigraph continuation", "// ??/\n#include \"a.h\"", []string{"a.h"}, reason.NotCacheableHeaders},
		{"blanks after a backslash", "// \\ \n#include \"a.h\"", nil, reason.NotCacheableHeaders},
		{"pragma dependency", "#pragma GCC dependency \"a.h\"", nil, reason.NotCacheableHeaders},
		{"pragma unroll", "#pragma unroll 4", nil, none},
		{"date", "char *d = __DATE__;", nil, reason.NotCacheableTime},
		{"time behind a define", "#define T __TIME__", nil, reason.NotCacheableTime},
		{"timestamp", "__TIMESTAMP__", nil, reason.NotCacheableTime},
		{"date in a comment", "// __DATE__", nil, none},
		{"a longer name", "int my__DATE__x;", nil, none},
		{"incbin", "asm(\".incbin \\\"x\\\"\");", nil, reason.NotCacheableFile},
		{"incbin in capitals", "__asm(\".INCBIN \\\"x\\\"\");", nil, reason.NotCacheableFile},
		{"include by the assembler", "void f() { __asm__ volatile(\".include \\\"x.s\\\"\"); }", nil, reason.NotCacheableFile},
		{"incbin behind a tab", "asm(\"nop\\n\\t.incbin \\\"x\\\"\");", nil, reason.NotCacheableFile},
		{"incbin joined", "asm(\".inc\" \"bin \\\"x\\\"\");", nil, reason.NotCacheableFile},
		{"incbin joined at the dot", "asm(\"nop; .\" \"incbin \\\"x\\\"\");", nil, reason.NotCacheableFile},
		{"incbin joined by a macro", "#define I \".i\"\nasm(I \"ncbin \\\"x\\\"\");", nil, reason.NotCacheableFile},
		{"incbin by numbers", "asm(\"\\x2eincbin \\\"x\\\"\");", nil, reason.NotCacheableFile},
		{"incbin as a string of code", "#define S(x) #x\nasm(S(.incbin \"x\"));", nil, reason.NotCacheableFile},
		{"incbin through a macro of the assembler", "asm(\".macro m x\\n.\\\\x \\\"f\\\"\\n.endm\\nm incbin\");", nil, reason.NotCacheableFile},
		{"incbin by the name of an argument", "asm(\".altmacro\\n.macro m d\\n.d \\\"f\\\"\\n.endm\\nm incbin\");", nil, reason.NotCacheableFile},
		{"incbin by an argument", "asm(\".macro m d\\n\\\\d \\\"f\\\"\\n.endm\\nm .inc\" \"bin\");", nil, reason.NotCacheableFile},
		{"a macro of the assembler", "asm(\"nop\\n\\t.MACRO m\\n.endm\");", nil, reason.NotCacheableFile},
		{"a macro of the assembler, joined", "asm(\".ma\" \"cro m d\");", nil, reason.NotCacheableFile},
		{"a macro of the assembler, joined at the dot", "asm(\".\" \"altmacro\");", nil, reason.NotCacheableFile},
		{"repeated by the assembler", "asm(\".irp d, incbin\\n\\\\d\\n.endr\");", nil, reason.NotCacheableFile},
		{"repeated for each letter", "asm(\".irpc d, ab\\n.endr\");", nil, reason.NotCacheableFile},
		{"a macro of the assembler as a string of code", "#define S(x) #x\nasm(S(.macro m d));", nil, reason.NotCacheableFile},
		{"alignment by the assembler", "asm(\".align 4\\n.type x, @function\\n.att_syntax\\n.irons\"); f(\"macro.\", \"max.\");", nil, none},
		{"incbin behind an operand", "asm(\"%c0.incbin \\\"x\\\"\" :: \"i\"(0));", nil, reason.NotCacheableFile},
		{"asm is pasted", "#define C(a, b) a##b\nC(as, m)(\".incbin \\\"x\\\"\");", nil, reason.NotCacheableFile},
		{"ordinary assembler", "asm volatile(\"atom.inc.u32 %0, [%1], %2;\\n\\tadd.s32 %0, %0, 1;\" : \"=r\"(r) : \"l\"(p)); a.index = v.x + .5f; f(\"...\");", nil, none},
		{"assembler put together", "#define OP(t) asm(\"add.\" #t \" %0, %1, %2;\" : \"=r\"(r) : \"r\"(a))", nil, none},
		{"no assembler", "p.include = q.inc; printf(\".include\");", nil, none},

		{"time is pasted", "#define C_(a,b) a##b\n#define C(a,b) C_(a,b)\nconstant char s[] = C(__TI,ME__);", nil, reason.NotCacheableHeaders},
		{"has_include is pasted", "#define C_(a,b) a##b\n#define C(a,b) C_(a,b)\n#if C(__has_,include)(<x.h>)\n#endif", nil, reason.NotCacheableHeaders},
		{"time is pasted of many", "#define C(a,b,c,d,e) a %:%: b##c##d##e\nC(_,_T,I,M,E__)", nil, reason.NotCacheableHeaders},
		{"date is pasted with trigraphs", "#define C(a,b) a??=??=b\nC(_,_DATE__)", nil, reason.NotCacheableHeaders},
		{"the beginning alone is here", "#define C(a,b) a##b\nC(__TI, REST)", nil, reason.NotCacheableHeaders},
		{"the end alone is here", "#define C(a,b) a##b\nC(FIRST, ME__)", nil, reason.NotCacheableHeaders},
		{"pieces without pasting", "int __TI, ME__;", nil, none},
		{"names are pasted", "#define CAT(a,b) a##b\n#define NAME(f, T) f##_##T\nkernel void CAT(add, float)(int next, int e, int T, int include) {}", nil, none},
		{"arguments are pasted", "#define P(...) printf(__VA_ARGS__, ##__VA_ARGS__)", nil, none},
		{"has_include as GCC writes it", "#if __has_include__(<a.h>)\n#endif", []string{"a.h"}, none},
		{"pragma that saves a macro", "#pragma push_macro(\"dllimport\")\n# pragma pop_macro( \"dllimport\" )", nil, none},
		{"pragma that saves and imports", "#pragma push_macro(\"a\") import(\"b\")", nil, reason.NotCacheableHeaders},
		{"_Pragma", "_Pragma(\"unroll 4\") for (;;) important();", nil, none},
		{"_Pragma that looks at a file", "_Pragma(\"GCC dependency \\\"a.h\\\"\")", nil, reason.NotCacheableHeaders},
		{"_Pragma by a macro that does", "#define P(x) _Pragma(#x)\n#define D dependency\nP(GCC D \"a.h\")", nil, reason.NotCacheableHeaders},
		{"_Pragma beside a comment on a dependency", "_Pragma(\"unroll 4\") for (;;) f(); // a dependency", nil, none},
		{"_Pragma beside a name like dependency", "_Pragma(\"unroll 4\") for (;;) dependency_of(important);", nil, none},
		{"_Pragma of a raw string", "_Pragma(R\"(GCC dependency \"a.h\")\")", nil, reason.NotCacheableHeaders},
		{"_Pragma that renames", "_Pragma(\"include_alias(<a.h>, <b.h>)\")", nil, reason.NotCacheableHeaders},
		{"unterminated comment", "/* #include \"a.h\"", nil, none},
		{"ends in a backslash", "int a; \\", nil, none},
		{"ends in a quote", "char c = '", nil, none},
		{"ends in a hash", "#", nil, none},
		{"ends in a digit quote", "1'", nil, reason.NotCacheableHeaders},
		{"empty", "", nil, none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := scanAlone([]byte(tt.src))
			if diff := gocmp.Diff(tt.includes, named(got)); diff != "" {
				t.Errorf("includes (-want +got):\n%s", diff)
			}
			if got.Reason.Code != tt.why {
				t.Errorf("reason %v, want %v", got.Reason, tt.why)
			}
		})
	}
}

// scanAlone scans a source that is all there is.
func scanAlone(src []byte) *Source {
	var t Traces
	s := Scan(src, &t)
	if s.Reason.None() {
		s.Reason = t.Reason()
	}
	return s
}

// named returns the lines that read or look for a file: the name, or the tokens
// that it is computed of.
func named(s *Source) (list []string) {
	for _, l := range s.Lines {
		if l.Kind != Condition {
			list = append(list, cmp.Or(l.Name, macro.Spell(macro.Lex(s.Text, l.At))))
		}
	}
	return list
}

// FuzzScan: an include that stands plainly on a line of its own, behind
// anything but an open comment, is never missed.
func FuzzScan(f *testing.F) {
	f.Add("int a;")
	f.Add("/* \" */ 'x' \"y\" // z")
	f.Add("/* 1'0 */ \"/*\" '\\'/*' // /*")
	f.Add("a /* b")
	f.Add("R\"x(")
	f.Add("#if 0\n#include <'> /*'\n#endif")
	f.Add("#elif __has_include(<b//c>) /*")
	f.Add("'\\")
	f.Add("#define A 1'0\nkernel void é(){ a.b'c' / 2; /* */ #x\n}")
	f.Fuzz(func(t *testing.T, before string) {
		got := scanAlone([]byte(before + "\n#include \"the.h\"\n"))
		if inComment(before) {
			return
		}
		if got.Reason.None() && !slices.Contains(named(got), "the.h") {
			t.Errorf("missed the include behind %q", before)
		}
	})
}

var (
	spliced = regexp.MustCompile(`\\(\r\n|\n|\r)`)
	tokens  = regexp.MustCompile(`(?s)/\*.*?\*/|/\*|//[^\n\r]*|"(?:\\[^\n\r]|[^"\\\n\r])*"|'(?:\\[^\n\r]|[^'\\\n\r])*'`)
)

// inComment says, with a scanner of another make, whether what follows src is
// in a comment or in a line that src continues.
func inComment(src string) bool {
	src = spliced.ReplaceAllString(src+"\n", "")
	if !strings.HasSuffix(src, "\n") {
		return true
	}
	for _, token := range tokens.FindAllString(src, -1) {
		if token == "/*" {
			return true
		}
	}
	return false
}

// Raw strings take time that grows with the source alone, whether lines are joined between
// them or they have no end.
func TestManyRawStrings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want reason.Reason
	}{
		"between joined lines": {strings.Repeat("R\"(x)\" \\\n\"\";\n", 200_000), 0},
		"without an end":       {strings.Repeat("R\"x(\n", 400_000), reason.NotCacheableHeaders},
		"over joined lines":    {strings.Repeat("R\"x(\\\n\n", 400_000) + ")x\"", reason.NotCacheableHeaders},
	} {
		start := time.Now()
		found := Scan([]byte(c.text), &Traces{Raw: true})
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		if found.Reason.Code != c.want {
			t.Errorf("%s: %v, want %q", name, found.Reason, c.want)
		}
	}
}
