package rtc

import (
	"os"
	"strings"
	"testing"
)

func TestSplitRandom(t *testing.T) {
	t.Parallel()
	own := strings.TrimSuffix(os.TempDir(), "/")
	for dir, want := range map[string][2]string{
		"/tmp/tmpc73m8qkl/":             {"/tmp/", "c73m8qkl"},
		"/tmp/tmp_______0/":             {"/tmp/", "_______0"},
		"/var/tmp/tmpaaaaaaaa/":         {"/var/tmp/", "aaaaaaaa"},
		own + "/tmpaaaaaaab/":           {own + "/", "aaaaaaab"},
		"":                              {},
		"/":                             {},
		"/tmp/":                         {},
		"/tmpaaaaaaaa/":                 {},
		"/tmp/tmpaaaaaaa/":              {}, // too short
		"/tmp/tmpaaaaaaaaa/":            {}, // too long
		"/tmp/tmpaaaaAaaa/":             {}, // another alphabet
		"/tmp/tmpaaaa-aaa/":             {},
		"/tmp/xaaaaaaaaaa/":             {},
		"/tmp/x/tmpaaaaaaaa/":           {}, // not directly there
		"/home/me/project/tmpbuilding/": {},
	} {
		parent, random := splitRandom(dir)
		if got := [2]string{parent, random}; got != want {
			t.Errorf("%q: %q", dir, got)
		}
	}
}

// What is in a form shows the random part in every way that compilers write texts.
func TestShows(t *testing.T) {
	t.Parallel()
	const name = "/tmp/tmpq1w2e3r4/a.cu"
	ptx := func(text string) *Output {
		o := new(Output)
		o.forms[PTX] = Answer{Asked: true, Data: []byte(".version 7.8\n" + text + "\x00")}
		return o
	}
	with := func(f Form, data string) *Output {
		o := ptx("")
		o.forms[f] = Answer{Asked: true, Data: []byte(data)}
		return o
	}
	logged := func(text string) *Output {
		o := ptx("")
		o.log = Answer{Asked: true, Data: []byte(text)}
		return o
	}
	for what, c := range map[string]struct {
		o    *Output
		want bool
	}{
		"nothing":              {ptx(".visible .entry k() { ret; }"), false},
		"no PTX":               {new(Output), true},
		"bytes":                {ptx(".global .align 1 .b8 $str[12] = {47, 113, 49, 119, 50, 101, 51, 114, 52, 47, 0};"), true},
		"bytes in hexadecimal": {ptx(".global .b8 s[4] = {0x71, 0x31, 0x77, 0x32};"), true},
		"other bytes":          {ptx(".global .align 1 .b8 $str[5] = {113, 49, 119, 51, 0};"), false},
		"a name":               {ptx(".global .b8 x_q1w2e3r4;"), true},
		"words":                {ptx(".global .align 8 .u64 s[3] = {8174153669456981364, 3401469183638271793, s};"), true}, // "tmp/tmpq", "1w2e3r4/"
		"an immediate":         {ptx("\tmov.u32 \t%r1, 846672241;"), true},
		"single ones": {ptx("\tmov.u16 %rs1, 113;\n\tmov.u16 %rs2, 49;\n\tst.global.u8 [%rd3+2], %rs1;\n\t@%p1 st.b8 [%rd3], 119;\n" +
			"\tsetp.eq.s16 %p1, %rs1, 12901;\n\tmov.b16 %rs4, 51;\n\tmov.b16 %rs5, 114;\n\tmov.b16 %rs6, 52;"), true}, // 12901: "e2"
		"single ones, but for one": {ptx("\tmov.u16 %rs1, 113;\n\tmov.u16 %rs2, 49;\n\tst.global.u8 [%rd3+2], %rs1;\n\t@%p1 st.b8 [%rd3], 119;\n" +
			"\tsetp.eq.s16 %p1, %rs1, 12901;\n\tmov.b16 %rs4, 51;\n\tmov.b16 %rs5, 114;\n\tmov.b32 %r6, 52;"), false},
		"machine code":            {with(CUBIN, "\x7fELF\x00q1w2\x00"), true},
		"other machine code":      {with(CUBIN, "\x7fELF\x00q1w_\x00"), false},
		"LTO IR":                  {with(LTOIR, "BC"), true},
		"the name in the log":     {logged(name + "(1): warning: unused\n\x00"), false},
		"the log, otherwise":      {logged("in /tmp/tmpq1w2e3r4/b.cu\x00"), true},
		"the log, a part of more": {logged(name + "x\x00"), true},
		"a lowered name":          {&Output{forms: ptx("").forms, lowered: []Lowered{{Name: "_Z9q1w2e3r4_v"}}}, true},
	} {
		if got := c.o.shows(name); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
