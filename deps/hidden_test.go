//go:build linux || darwin

package deps

// hiddenCases are of includes that one compiler reads and a scan may take for
// something else.
var hiddenCases = []trackCase{
	{"a comment that #warning is not ended by", map[string]string{"m.cl": "#include \"b.h\"\n#warning /* x\n#include \"a.h\"\n/* */", "a.h": "", "b.h": ""}, "", nil, "", "a comment that compilers read differently"},
	{"a comment behind an open quote in #error", map[string]string{"m.cl": "#if 0\n#error don't /* x\n#endif\n#include \"a.h\"\n/* */", "a.h": ""}, "", nil, "", "a comment that compilers read differently"},
	{"a comment within #error", map[string]string{"m.cl": "#if 0\n#error /*/ don't */ /* x */ y\n#endif\n#include \"a.h\"", "a.h": ""}, "", nil, "unit: \"a.h\"=0\n0 a.h:", ""},
	{"a comment in #pragma mark", map[string]string{"m.cl": "#include \"b.h\"\n#pragma /**/ mark /* x\n#include \"a.h\"\n/* */", "a.h": "", "b.h": ""}, "", nil, "", "a comment that compilers read differently"},
	{"a comment behind an open quote", map[string]string{"m.cl": "#if 0\nit's /* x\n#endif\n#include \"a.h\"\n/* */", "a.h": ""}, "", nil, "", "a comment that compilers read differently"},
	{"a comment behind a name that is skipped", map[string]string{"m.cl": "#if 0\n#include <'> /*'\n#endif\n#include \"a.h\"\n/* */", "a.h": ""}, "", nil, "", "a comment that compilers read differently"},
	{"a no-break space behind #include", map[string]string{"m.cl": "#include\u00a0\"a.h\"", "a.h": ""}, "", nil, "", "white space"},
	{"a no-break space behind #", map[string]string{"m.cl": "#\u00a0include \"a.h\"", "a.h": ""}, "", nil, "", "white space"},
	{"a no-break space before #", map[string]string{"m.cl": "\u00a0#include \"a.h\"", "a.h": ""}, "", nil, "", "white space"},
	{"a no-break space behind a number", map[string]string{"m.cl": "#if 0 + 1\u00a0&& 0\u00a0+__has_include(\"a.h\") && 1\u00a0__has_include(\"a.h\")\n#endif", "a.h": ""}, "", nil, "", "white space"},
	{"a no-break space in a header", map[string]string{"m.cl": "#include \"b.h\"", "b.h": "#include\u3000<a.h>", "a.h": ""}, "-I.", nil, "", "white space"},
	{"a no-break space behind __TIME__", map[string]string{"m.cl": "constant char *s = __TIME__\u00a0;"}, "", nil, "", "white space"},
	{"a no-break space of Latin-1", map[string]string{"m.cl": "#include\xa0\"a.h\"", "a.h": ""}, "", nil, "", "white space"},
	{"rare white space where nobody reads it", map[string]string{"m.cl": "// a\u00a0b \xe9\n/*\u3000*/ #include \"a.h\"\nconstant char *s = \"\u2003\u00e9\"; int \u00e9;", "a.h": ""}, "", nil, "unit: \"a.h\"=0\n0 a.h:", ""},
	{"a trigraph for a backslash", map[string]string{"m.cl": "#include \"b.h\"\nconstant char *s = \"??/\"/*\";\n#include \"a.h\"\n/* */", "a.h": "", "b.h": ""}, "", nil, "", "a trigraph"},

	{"a quoted -D", map[string]string{"m.cl": "#ifndef F\n#define F <a.h>\n#endif\n#include F", "a.h": "", "b.h": ""}, `"-DF=<b.h>" -I.`, nil, "", "cannot be expanded"},
	{"a quoted macro", map[string]string{"m.cl": "#ifndef F\n#define F <a.h>\n#endif\n#include F", "a.h": "", "b.h": ""}, `-D"F=<b.h>" -I.`, nil, "", "cannot be expanded"},
	{"a quoted macro behind -D", map[string]string{"m.cl": "#ifndef F\n#define F(x) <a.h>\n#endif\n#include F(b)", "a.h": "", "b.h": ""}, `-D 'F(x)=<b.h>' -I.`, nil, "", "cannot be expanded"},
	{"a quoted name", map[string]string{"m.cl": "#ifndef F\n#define F <a.h>\n#endif\n#include F", "a.h": "", "b.h": ""}, `-D\F=<b.h> -I.`, nil, "", "cannot be expanded"},
	{"a quoted -U", map[string]string{"m.cl": "#define S_(x) #x\n#define S(x) S_(x)\n#include S(A)", "A": "", "b.h": ""}, `-DA=b.h -U"A"`, nil, "", "cannot be expanded"},
	{"a quoted -D of another macro", map[string]string{"m.cl": "#define F \"a.h\"\n#include F", "a.h": ""}, `-DX="1"`, nil, "unit: \"a.h\"=0\n0 a.h:", ""},

	{"a function that is a macro of PoCL's", map[string]string{"m.cl": "#define S_(x) #x\n#define S(x) S_(x)\n#include S(min.h)", "min.h": "", "_cl_min.h": ""}, "", nil, "", "cannot be expanded"},
	{"such a one that an option defines", map[string]string{"m.cl": "#define S_(x) #x\n#define S(x) S_(x)\n#include S(clamp.h)", "a.h": "", "_cl_clamp.h": ""}, "-Dclamp=a", nil, "", "cannot be expanded"},
	{"a number of OpenCL's", map[string]string{"m.cl": "#define S_(x) #x\n#define S(x) S_(x)\n#include S(INT_MAX)", "INT_MAX": "", "2147483647": ""}, "", nil, "", "cannot be expanded"},
	{"a conversion", map[string]string{"m.cl": "#define S_(x) #x\n#define S(x) S_(x)\n#include S(convert_int4)", "convert_int4": ""}, "", nil, "", "cannot be expanded"},
}
