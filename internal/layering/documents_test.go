package layering

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the documents say is held by a test is held by one that exists.
func TestBehavioursNameRealTests(t *testing.T) {
	t.Parallel()
	exists := make(map[string]bool)
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)`)
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "storetest") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(b, -1) {
			exists[string(m[1])] = true
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
