//go:build linux || darwin

package deps

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// chooser makes the choices of a random tree: by a seed, or by fuzz bytes.
type chooser interface{ IntN(n int) int }

// fromBytes chooses by bytes, then 0 forever.
type fromBytes struct{ b []byte }

func (f *fromBytes) IntN(n int) int {
	if len(f.b) == 0 {
		return 0
	}
	c := int(f.b[0])
	f.b = f.b[1:]
	return c % n
}

var (
	randomDirs    = []string{"", "x", "y", "x/y", "s"}
	randomNames   = []string{"a.h", "b.h", "c.h", "y/a.h", "../a.h", "../x/b.h", "y/../c.h", "none.h", "./b.h"}
	randomMacros  = []string{"A", "B", "C", "D"}
	randomOptions = [][]string{
		nil,
		{"-Ix"},
		{"-I", "y", "-Ix"},
		{"-Ix", "-Iy", "-I."},
		{"-iquote", "y", "-Ix"},
		{"-isystem", "x", "-Iy"},
		{"-Is", "-idirafter", "x", "-Iy"},
		{"-Ix/y", "-Inone", "-Ix", "-DA=1"},
		{"-Iy", "-Ix", "-DP=x", "-DB"},
		{"-I./x", "-Ix/y/../../y"},
	}
)

// randomTree returns files of random lines and options to read them with.
func randomTree(c chooser) (files map[string]string, options []string) {
	files = make(map[string]string)
	for _, dir := range randomDirs {
		for _, name := range []string{"a.h", "b.h", "c.h"} {
			if c.IntN(3) > 0 {
				files[filepath.Join(dir, name)] = randomSource(c, 1+c.IntN(5))
			}
		}
	}
	if c.IntN(4) == 0 {
		delete(files, "y/c.h")
		files["y/c.h"] = "-> ../x/a.h"
		if c.IntN(2) == 0 {
			files["y/c.h"] = "-> a.h"
		}
	}
	if c.IntN(8) == 0 {
		for _, name := range []string{"a.h", "b.h", "c.h"} {
			delete(files, "s/"+name)
		}
		files["s"] = "-> x"
	}
	files["m.cl"] = "#define S_(x) #x\n#define S(x) S_(x)\n#define ANGLE(x) <x>\n" + randomSource(c, 8)
	return files, randomOptions[c.IntN(len(randomOptions))]
}

func randomSource(c chooser, lines int) string {
	var b strings.Builder
	open := 0
	for range lines {
		b.WriteString(randomLine(c, &open))
		b.WriteByte('\n')
	}
	b.WriteString(strings.Repeat("#endif\n", open))
	if c.IntN(4) == 0 {
		return "#pragma once\n" + b.String()
	}
	guard := "G" + strconv.Itoa(c.IntN(1000))
	if c.IntN(8) == 0 {
		return b.String()
	}
	return "#ifndef " + guard + "\n#define " + guard + "\n" + b.String() + "#endif\n"
}

func randomLine(c chooser, open *int) string {
	pick := func(list ...string) string { return list[c.IntN(len(list))] }
	name, macro := pick(randomNames...), pick(randomMacros...)
	quote := pick(`"%s"`, "<%s>")
	header := fmt.Sprintf(quote, name)
	switch c.IntN(22) {
	case 0, 1, 2, 3:
		return pick("#include ", "#include ", "# /**/ include", "%:include ", "#inc\\\nlude ", "/* */ #include/*\n*/ ", "#import ") + header
	case 4:
		return "#include_next " + header
	case 5:
		*open++
		return "#if __has_include(" + header + ")"
	case 6:
		*open++
		return "#if defined(" + macro + ") && __has_include_next(" + header + ")\n#include_next " + header
	case 7, 8:
		return "#define " + macro + " " + header
	case 9:
		return "#define " + macro + " " + pick("x", "y", "a", "1", "", randomMacros[0], "S(a.h)", "S(P/b.h)")
	case 10:
		return "#undef " + macro
	case 11:
		*open++
		return "#ifdef " + macro
	case 12:
		*open++
		return "#if " + pick("0", "1", macro+" == 1", "!defined "+macro)
	case 13:
		if *open > 0 {
			return "#else"
		}
	case 14:
		if *open > 0 {
			*open--
			return "#endif"
		}
	case 15:
		if c.IntN(2) == 0 {
			return "#define " + macro + " " + header + "\n#include " + macro
		}
	case 16:
		if c.IntN(3) == 0 {
			return "#define " + macro + " " + pick("x", "y", "a") + "\n#include S(" + pick(macro, "x", "P") + "/" + pick("a", "b", macro) + ".h)"
		}
	case 17:
		if c.IntN(2) == 0 {
			return "#include ANGLE(" + pick("a.h", "b.h", "y/a.h") + ")"
		}
	case 18:
		return "// #include " + header + pick("", "\\\n more")
	case 19:
		return "/* #include " + header + " */ const char *s = \"/*\"; /* \n */"
	case 20:
		return "#define H(x) __has_include(x)\n#if H(" + header + ")\n#include " + header + "\n#endif"
	}
	return "int " + macro + "_;"
}

// Random trees of headers: every file that clang reads is tracked, or there is
// a reason.
func TestTrackRandomTrees(t *testing.T) {
	t.Parallel()
	clang(t)
	seed, n := timing.Seed(t), 150
	switch long() {
	case "":
	case "all":
		n = 5000
	default:
		n = 1000
	}
	var c compared
	cases := make([]string, n)
	for i := range cases {
		cases[i] = strconv.Itoa(i)
	}
	each(cases, 1, func(name string) {
		i, _ := strconv.Atoi(name)
		files, options := randomTree(rand.New(rand.NewPCG(seed, uint64(i))))
		dir := tree(t, files)
		u := key.Unit{Kind: key.OpenCLC, Code: []byte(files["m.cl"])}
		system := filepath.Join(dir, "s")
		all := c.compare(t, u, filepath.Join(dir, "m.cl"), options, Search{Dir: dir, Main: dir, System: []string{system}},
			"-x", "c", "-nostdinc", "-Wno-everything", "-fno-gnu-inline-asm", "-Xclang", "-internal-isystem", "-Xclang", system)
		if !all {
			t.Errorf("tree %d: options %q, files %q", i, options, files)
		}
	})
	c.report(t)
	if c.tracked < n/3 {
		t.Errorf("only %d trees of %d say something", c.tracked, n)
	}
}

// FuzzTrack: whatever the files are, tracking ends, and it leads to the same in
// another directory.
func FuzzTrack(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"), "int a;\n")
	f.Add([]byte{200, 3, 4, 4, 16, 15, 7, 0, 9, 1}, "#define A(x, ...) #x ## __VA_ARGS__\n#include A(b,\n")
	f.Fuzz(func(t *testing.T, choices []byte, text string) {
		var got [2]*Tracking
		var reasons [2]reason.Uncacheable
		for i := range got {
			texts, options := randomTree(&fromBytes{choices})
			texts["x/b.h"] = text
			dir := tree(t, texts)
			u := key.Unit{Kind: key.OpenCLC, Code: []byte(texts["m.cl"])}
			got[i], reasons[i] = Track(u, options, Search{Dir: dir, Main: dir, System: []string{filepath.Join(dir, "s")}})
			if got[i] == nil {
				continue
			}
			for j := range got[i].Unit.Files {
				got[i].Unit.Files[j].Path = strings.TrimPrefix(got[i].Unit.Files[j].Path, dir)
			}
			got[i].Unit.Dir = strings.TrimPrefix(got[i].Unit.Dir, dir)
			m, err := manifest.Parse(got[i].Manifest.Append(nil, key.Digest{1}), key.Digest{1})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, changed := check(m, files.OS, u); changed != "" {
				t.Fatalf("%s changed", changed)
			}
			if changed := m.Changed(); changed != "" {
				t.Fatalf("%s changed behind the build", changed)
			}
		}
		if (got[0] == nil) != (got[1] == nil) || reasons[0].Code != reasons[1].Code {
			t.Fatalf("%v in one directory, %v in the other", reasons[0], reasons[1])
		}
		if got[0] != nil {
			if diff := gocmp.Diff(got[0].Unit, got[1].Unit); diff != "" {
				t.Errorf("(-one +other directory):\n%s", diff)
			}
		}
	})
}
