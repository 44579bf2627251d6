package layering

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What the documents say is held by a test is held by one that exists, and each behaviour by one
// that `make test` runs.
func TestBehavioursNameRealTests(t *testing.T) {
	t.Parallel()
	exists, short := make(map[string]bool), make(map[string]bool)
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)`)
	// A test is long where it begins so: statements of its own, not of a case of it.
	long := regexp.MustCompile(`(?m)^\t(timing\.(Long|Only)\(|if os\.Getenv\("KERNSTASH_TEST_LONG"\) != "1" \{\n\t\tt\.Skip)`)
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "storetest") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatchIndex(b, -1) {
			name, body := string(b[m[2]:m[3]]), b[m[1]:]
			body, _, _ = bytes.Cut(body, []byte("\n}\n"))
			exists[name] = true
			short[name] = short[name] || !long.Match(body)
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\b(Test|Fuzz)[A-Z][A-Za-z0-9_]+`)
	for _, doc := range []string{"BEHAVIOURS.md", "SECURITY.md"} {
		b, err := os.ReadFile("../../docs/" + doc)
		if err != nil {
			t.Fatal(err)
		}
		found := named.FindAllString(string(b), -1)
		if len(found) < 10 {
			t.Errorf("%s names only %d tests", doc, len(found))
		}
		for _, name := range found {
			if !exists[name] {
				t.Errorf("%s: there is no %s", doc, name)
			}
		}
		for line := range strings.Lines(string(b)) {
			names := named.FindAllString(line, -1)
			if strings.HasPrefix(line, "| ") && len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return short[name] }) {
				t.Errorf("%s: make test runs none of %v", doc, names)
			}
		}
	}
}

// A decision is short enough to be read, and stands in the list.
func TestDecisionsAreShortAndListed(t *testing.T) {
	t.Parallel()
	const dir, maxWords = "../../docs/decisions/", 200
	list, err := os.ReadFile(dir + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	decisions, err := filepath.Glob(dir + "[0-9][0-9][0-9]-*.md")
	if err != nil || len(decisions) < 50 {
		t.Fatalf("%d decisions, %v", len(decisions), err)
	}
	for _, path := range decisions {
		name := filepath.Base(path)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(strings.Fields(string(b))); n > maxWords {
			t.Errorf("%s has %d words, of %d that it may have", name, n, maxWords)
		}
		if want := "[" + name[:3] + "](" + name + ") "; !strings.Contains(string(list), want) {
			t.Errorf("%s: README.md, the list, has no line for it", name)
		}
	}
}

// What is measured stands in tables; the words between them are few.
func TestResultsAreTables(t *testing.T) {
	t.Parallel()
	const maxWords = 800
	b, err := os.ReadFile("../../docs/RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	words, rows, code := 0, 0, false
	for line := range strings.Lines(string(b)) {
		switch {
		case strings.HasPrefix(line, "```"):
			code = !code
		case code, strings.HasPrefix(line, "<!--"), strings.HasPrefix(line, "!["):
		case strings.HasPrefix(line, "|"):
			rows++
		default:
			words += len(strings.Fields(line))
		}
	}
	if words > maxWords || rows < 100 {
		t.Errorf("%d words between %d rows of tables, of %d words that there may be", words, rows, maxWords)
	}
}
