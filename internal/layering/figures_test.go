package layering

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var write = flag.Bool("write", false, "write today's figures into docs/ARCHITECTURE.md")

const architecture = root + "/docs/ARCHITECTURE.md"

// A figure is one line of the table in ARCHITECTURE.md.
type figure struct {
	name string
	n    int
	of   string // the package that it is of, if any
}

func figures(h *house) []figure {
	lines := 0
	for _, n := range h.lines {
		lines += n
	}
	largest, cycle := figure{name: "largest package, lines"}, figure{name: "largest cycle, files"}
	sizes := h.packageLines()
	for _, p := range h.packages {
		if n := sizes[p.path]; n > largest.n {
			largest.n, largest.of = n, p.path
		}
		if n := len(h.cycle(p)); n > cycle.n {
			cycle.n, cycle.of = n, p.path
		}
	}
	largest.n = (largest.n + 50) / 100 * 100
	named := 0
	for _, r := range runtimes {
		named += len(h.places(r))
	}
	return []figure{
		{name: "product lines", n: (lines + 50) / 100 * 100},
		{name: "packages", n: len(h.packages)},
		largest,
		cycle,
		{name: "exported names of the root", n: len(h.exported())},
		{name: "files that name a runtime outside its folders", n: named},
	}
}

// cell returns what the table says of f.
func (f figure) cell() string {
	s := strconv.Itoa(f.n)
	if f.n >= 1000 {
		s = fmt.Sprintf("%d,%03d", f.n/1000, f.n%1000)
	}
	if f.of != "" {
		s += " (" + f.of + ")"
	}
	return s
}

// The second column of ARCHITECTURE.md's table says what the house is now, or was
// not long ago: a figure that is 2 % off is still one of today.
func TestFiguresOfArchitecture(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	doc, stale := string(b), false
	for _, f := range figures(theHouse(t)) {
		row := regexp.MustCompile(`(?m)^(\| ` + regexp.QuoteMeta(f.name) + ` \|[^|\n]*\|)([^|\n]*)\|$`)
		m := row.FindStringSubmatch(doc)
		if m == nil {
			t.Errorf("docs/ARCHITECTURE.md has no row %q", f.name)
			continue
		}
		said, of, _ := strings.Cut(strings.TrimSpace(m[2]), " ")
		n, _ := strconv.Atoi(strings.ReplaceAll(said, ",", ""))
		t.Logf("%s: %s; the document says %s", f.name, f.cell(), strings.TrimSpace(m[2]))
		if off := f.n - n; off > f.n/50 || -off > f.n/50 || of != "" && of != "("+f.of+")" {
			stale = true
		}
		doc = row.ReplaceAllString(doc, "${1} "+f.cell()+" |")
	}
	switch {
	case *write:
		if err := os.WriteFile(architecture, []byte(doc), 0o666); err != nil {
			t.Fatal(err)
		}
	case stale:
		t.Error("docs/ARCHITECTURE.md says something else of the house: make figures")
	}
}
