// Package docs runs what README.md and docs/*.md show: each block between fences is run, or says what
// runs it, or why nothing does. CONTRIBUTING.md has the rules for who writes one.
package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/cbuild"
)

func TestMain(m *testing.M) { os.Exit(withPrefix(m)) }

// block is what stands between two fences.
type block struct {
	line    int    // of the fence
	kind    string // what the fence says: console, sh, go
	text    string
	markers []marker
}

// marker is an HTML comment before a block.
type marker struct{ name, text string }

// marked returns the text of the block's marker of a name.
func (b block) marked(name string) (text string, ok bool) {
	for _, m := range b.markers {
		if m.name == name {
			return m.text, true
		}
	}
	return "", false
}

const (
	notRun   = "not run"   // the reason why nothing runs the block
	runBy    = "run by"    // the test that runs it: a function's name, or a file
	runFirst = "run first" // commands for the shell that readers need not see
	newHome  = "new home"  // the block does not build upon those before it
)

var comment = regexp.MustCompile(`(?s)^<!-- (not run|run by|run first|new home)(?::?\s+(.*?))?\s*-->$`)

// parse returns the blocks of a document.
func parse(document string) (all []block, err error) {
	var markers []marker
	begun := -1 // where a comment of several lines began
	open, indent := false, ""
	lines := strings.Split(document, "\n")
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		kind, fence := strings.CutPrefix(trimmed, "```")
		switch {
		case fence && open:
			open = false
		case open:
			all[len(all)-1].text += strings.TrimPrefix(line, indent) + "\n"
		case begun >= 0 || strings.HasPrefix(trimmed, "<!-- "):
			if begun < 0 {
				begun = i
			}
			if !strings.HasSuffix(trimmed, "-->") {
				continue
			}
			text := strings.TrimSpace(strings.Join(lines[begun:i+1], "\n"))
			begun = -1
			if m := comment.FindStringSubmatch(text); m != nil {
				markers = append(markers, marker{m[1], m[2]})
			}
		case fence:
			all = append(all, block{line: i + 1, kind: kind, markers: markers})
			open, indent, markers = true, line[:strings.Index(line, "```")], nil
		case trimmed != "":
			if len(markers) > 0 {
				return nil, fmt.Errorf("line %d: no block follows the comment %q", i+1, markers[0].name)
			}
		}
	}
	if open || begun >= 0 || len(markers) > 0 {
		return nil, fmt.Errorf("line %d: something is not closed, or no block follows a comment", len(lines))
	}
	return all, nil
}

func TestParse(t *testing.T) {
	t.Parallel()
	const document = "Text.\n\n" +
		"```console\n$ ls\n```\n" +
		"<!-- begin machine -->\nText.\n\n" +
		"<!-- not run: needs a GPU -->\n```\nx\n```\n" +
		"<!-- new home -->\n<!-- run first:\na\nb\n-->\n\n- one\n"
	if _, err := parse(document); err == nil || err.Error() != `line 19: no block follows the comment "new home"` {
		t.Errorf("%v", err)
	}
	got, err := parse(strings.TrimSuffix(document, "- one\n") + "  ```sh\n  c\n    d\n  ```\n")
	want := []block{
		{line: 3, kind: "console", text: "$ ls\n"},
		{line: 10, text: "x\n", markers: []marker{{notRun, "needs a GPU"}}},
		{line: 19, kind: "sh", text: "c\n  d\n", markers: []marker{{newHome, ""}, {runFirst, "a\nb"}}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(block{}, marker{})); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := parse("```sh\nc\n"); err == nil {
		t.Error("a fence that is not closed")
	}
}

// apart are documents in which each block has a home of its own.
var apart = map[string]bool{"README.md": true}

// TestBlocks runs the blocks of each document, one after the other, as a user with an installation and a
// home of his own. All documents are run at once, whatever -parallel says: mostly they wait for workers.
func TestBlocks(t *testing.T) {
	t.Parallel()
	root, err := cbuild.Root()
	if err != nil {
		t.Fatal(err)
	}
	tests, err := testsOf(root)
	if err != nil {
		t.Fatal(err)
	}
	documents := []string{filepath.Join(root, "README.md")}
	for _, pattern := range []string{"docs/*.md", "docs/decisions/*.md"} {
		more, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, more...)
	}
	var all sync.WaitGroup
	defer all.Wait()
	for _, path := range documents {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(root, path)
		blocks, err := parse(string(b))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(blocks) == 0 {
			continue
		}
		all.Go(func() { t.Run(name, func(t *testing.T) { runAll(t, root, name, blocks, tests) }) })
	}
}

// runAll runs the blocks of a document.
func runAll(t *testing.T, root, document string, blocks []block, tests map[string]bool) {
	var r *reader
	for _, b := range blocks {
		at := fmt.Sprintf("%s:%d", document, b.line)
		if problem := b.check(root, tests); problem != "" {
			t.Errorf("%s: %s", at, problem)
			continue
		}
		if !b.isRun() {
			continue
		}
		if _, fresh := b.marked(newHome); r == nil || fresh || apart[document] {
			r = newReader(t)
		}
		if err := r.run(b); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// isRun reports whether this package runs the block.
func (b block) isRun() bool {
	_, not := b.marked(notRun)
	_, elsewhere := b.marked(runBy)
	return !not && !elsewhere && !b.isMake()
}

// isMake reports whether the block has README's two commands, which scripts/bare reads out of README and runs.
func (b block) isMake() bool {
	return strings.HasPrefix(b.text, "$ make demo\n") || strings.HasPrefix(b.text, "make demo ")
}

// check returns what is wrong with how the block is marked.
func (b block) check(root string, tests map[string]bool) string {
	reason, not := b.marked(notRun)
	by, elsewhere := b.marked(runBy)
	switch {
	case not && elsewhere:
		return "it is run, and not run"
	case not && len(strings.Fields(reason)) < 2:
		return "a block that is not run needs a reason: <!-- not run: needs a GPU -->"
	case elsewhere:
		for name := range strings.FieldsFuncSeq(by, func(r rune) bool { return r == ',' || r == ' ' }) {
			if _, err := os.Stat(filepath.Join(root, name)); err != nil && !tests[name] {
				return "there is no test " + name
			}
		}
		if by == "" {
			return "which test runs it? <!-- run by TestX -->"
		}
	case not, b.isMake(), runs[b.kind] != nil:
	default:
		return fmt.Sprintf("nothing runs a block of the kind %q: name the test that does, <!-- run by TestX -->, or the reason, <!-- not run: REASON -->", b.kind)
	}
	return ""
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{"TestThere": true}
	for _, tt := range []struct {
		block block
		ok    bool
	}{
		{block{kind: "console"}, true},
		{block{kind: ""}, false},
		{block{kind: "json"}, false},
		{block{kind: "json", markers: []marker{{runBy, "TestThere"}}}, true},
		{block{kind: "json", markers: []marker{{runBy, "TestThere, parse.go"}}}, false},
		{block{kind: "json", markers: []marker{{runBy, "TestGone"}}}, false},
		{block{kind: "json", markers: []marker{{runBy, ""}}}, false},
		{block{kind: "console", markers: []marker{{notRun, "needs a GPU"}}}, true},
		{block{kind: "console", markers: []marker{{notRun, ""}}}, false},
		{block{kind: "console", markers: []marker{{notRun, "needs a GPU"}, {runBy, "TestThere"}}}, false},
	} {
		if got := tt.block.check(t.TempDir(), tests); (got == "") != tt.ok {
			t.Errorf("%+v: %q", tt.block, got)
		}
	}
}

var testFunction = regexp.MustCompile(`(?m)^(?:func (Test\w+)\(\w+ \*testing\.T\)|def (test_\w+)\()`)

// testsOf returns the names of the tests of the repository, in Go and in Python.
func testsOf(root string) (map[string]bool, error) {
	tests := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || path == filepath.Join(root, "lib") || path == filepath.Join(root, "bin")):
			return filepath.SkipDir
		case !strings.HasSuffix(d.Name(), "_test.go") && !strings.HasPrefix(d.Name(), "test_"), !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		for _, m := range testFunction.FindAllSubmatch(b, -1) {
			tests[string(m[1])+string(m[2])] = true
		}
		return err
	})
	return tests, err
}
