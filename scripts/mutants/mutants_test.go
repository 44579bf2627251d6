package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// TestMutants: each mutant applies, is Go, and names a test; each rule has some.
func TestMutants(t *testing.T) {
	t.Parallel()
	of := make(map[int]int)
	for _, m := range mutants {
		of[m.rule]++
		b, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			t.Error(err)
			continue
		}
		changed, err := m.apply(string(b))
		if err != nil {
			t.Errorf("%s: %v", m.breaks, err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.file, changed, parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: %v", m.breaks, err)
		}
		if !hasTest(t, filepath.Join(root, m.dir()), m.test) {
			t.Errorf("%s: there is no %s in %s", m.breaks, m.test, m.dir())
		}
	}
	for rule := 1; rule < len(rules); rule++ {
		if of[rule] < 2 {
			t.Errorf("%d mutants of rule %d, want 2", of[rule], rule)
		}
		delete(of, rule)
	}
	if len(of) > 0 {
		t.Errorf("mutants of no rule: %v", of)
	}
	if !slices.IsSortedFunc(mutants, func(a, b mutant) int { return a.rule - b.rule }) {
		t.Error("they are not in the order of the rules")
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(t \*testing\.T\)`)
	return slices.ContainsFunc(files, func(file string) bool {
		b, err := os.ReadFile(file)
		return err == nil && declared.Match(b)
	})
}

// TestDocument: docs/MUTANTS.md is what -list prints.
func TestDocument(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(root, "docs/MUTANTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(b), markdown(mutants)); d != "" {
		t.Errorf("go run ./scripts/mutants -list >docs/MUTANTS.md\n%s", d)
	}
}

// TestTry: what becomes of mutants of a module of its own.
func TestTry(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module x\n\ngo 1.26\n",
		"x.go":   "package x\n\nfunc twice(n int) int { return 2 * n }\n",
		"x_test.go": "package x\n\nimport \"testing\"\n\nfunc TestTwice(t *testing.T) {\n	if twice(2) != 4 {\n		t.Error()\n	}\n}\n" +
			"func TestFails(t *testing.T) { t.Error() }\nfunc TestSkips(t *testing.T) { t.Skip() }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for name, tt := range map[string]struct {
		m             mutant
		verdict, told string
	}{
		"killed":             {mutant{file: "x.go", old: "2 * n", new: "3 * n", test: "TestTwice"}, killed, ""},
		"hangs":              {mutant{file: "x.go", old: "return", new: "for { }; return", test: "TestTwice"}, killed, ""},
		"survives":           {mutant{file: "x.go", old: "2 * n", new: "n + n", test: "TestTwice"}, survived, "the test passes"},
		"does not compile":   {mutant{file: "x.go", old: "2 * n", new: "none", test: "TestTwice"}, useless, "it does not compile"},
		"does not apply":     {mutant{file: "x.go", old: "n", new: "m", test: "TestTwice"}, useless, "the text stands"},
		"changes nothing":    {mutant{file: "x.go", old: "2 * n", new: "2 * n", test: "TestTwice"}, useless, "it does not apply"},
		"no file":            {mutant{file: "y.go", old: "2 * n", new: "3 * n", test: "TestTwice"}, useless, "y.go"},
		"no test":            {mutant{file: "x.go", old: "2 * n", new: "3 * n", test: "TestOther"}, useless, "is not run here"},
		"fails, without too": {mutant{file: "x.go", old: "2 * n", new: "3 * n", test: "TestFails"}, useless, "fails without the change"},
		"skipped":            {mutant{file: "x.go", old: "2 * n", new: "3 * n", test: "TestSkips"}, useless, "is not run here"},
	} {
		r := runner{limit: time.Minute, healthy: make(map[string]error)}
		if name == "hangs" {
			r.limit, r.healthy[". TestTwice"] = time.Second, nil
		}
		if verdict, told := r.try(tt.m); verdict != tt.verdict || !strings.Contains(told, tt.told) {
			t.Errorf("%s: %s: %s\nwant %s: %s", name, verdict, told, tt.verdict, tt.told)
		}
	}
}
