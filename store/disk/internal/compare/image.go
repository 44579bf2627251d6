package compare

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// compareImages says what changed between two images. They are near if they
// have as many units, only one of which differs, and that in its headers or in
// less than half of its code.
func compareImages(now, was *key.Image) (what reason.Reason, changes []string, near bool) {
	a, b := unmatched(now.Units(), was.Units()), unmatched(was.Units(), now.Units())
	if len(a) != 1 || len(b) != 1 || a[0].Kind != b[0].Kind {
		return reason.NearestImage, nil, false
	}
	what = reason.NearestHeader
	if !bytes.Equal(a[0].Code, b[0].Code) {
		what = reason.NearestImage
		same := commonBytes(a[0].Code, b[0].Code)
		if 2*same <= max(len(a[0].Code), len(b[0].Code)) {
			return what, []string{codeChange(a[0].Code, b[0].Code)}, false
		}
		changes = append(changes, codeChange(a[0].Code, b[0].Code))
	}
	changes = append(changes, compareHeaders(a[0].Headers, b[0].Headers)...)
	if a[0].Dir != b[0].Dir {
		changes = append(changes, dirChange(a[0].Dir, b[0].Dir))
	}
	return what, append(changes, compareFiles(&a[0], &b[0])...), true
}

// unmatched returns the units that others does not have.
func unmatched(units, others []key.Unit) []key.Unit {
	var out []key.Unit
	left := slices.Clone(others)
	for _, u := range units {
		i := slices.IndexFunc(left, func(o key.Unit) bool {
			return u.Kind == o.Kind && bytes.Equal(u.Code, o.Code) && u.Digest() == o.Digest()
		})
		if i < 0 {
			out = append(out, u)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	return out
}

// commonBytes returns how many bytes two codes share at their ends.
func commonBytes(a, b []byte) int {
	head := commonPrefix(a, b)
	a, b = a[head:], b[head:]
	tail := 0
	for tail < len(a) && tail < len(b) && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head + tail
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func codeChange(now, was []byte) string {
	at := commonPrefix(now, was)
	if bytes.IndexByte(now, 0) >= 0 || bytes.IndexByte(was, 0) >= 0 {
		return fmt.Sprintf("code differs from byte %d on", at)
	}
	return fmt.Sprintf("code differs from line %d on", 1+bytes.Count(now[:at], []byte("\n")))
}

func compareHeaders(now, was []key.Header) []string {
	var changes []string
	find := func(list []key.Header, name string) int {
		return slices.IndexFunc(list, func(h key.Header) bool { return h.Name == name })
	}
	for _, h := range now {
		switch i := find(was, h.Name); {
		case i < 0:
			changes = append(changes, fmt.Sprintf("header %q is new", h.Name))
		case !bytes.Equal(h.Content, was[i].Content):
			changes = append(changes, fmt.Sprintf("header %q differs", h.Name))
		}
	}
	for _, h := range was {
		if find(now, h.Name) < 0 {
			changes = append(changes, fmt.Sprintf("header %q is gone", h.Name))
		}
	}
	return changes
}

// compareFiles says what changed in the header files that two units read. It goes through
// both from their code on, and compares what lines of the same name lead to: so a header
// that is found elsewhere now is told from one that is new.
func compareFiles(now, was *key.Unit) []string {
	c := fileComparison{now: now, was: was, seen: make(map[[2]int]bool), told: make(map[string]bool)}
	c.lists(now.Includes, was.Includes, true)
	for len(c.todo) > 0 {
		pair := c.todo[0]
		c.todo = c.todo[1:]
		a, b := &now.Files[pair[0]], &was.Files[pair[1]]
		c.lists(a.Includes, b.Includes, a.Digest == b.Digest)
	}
	return c.changes
}

type fileComparison struct {
	now, was *key.Unit
	todo     [][2]int        // pairs of files whose lines are to be compared
	seen     map[[2]int]bool // that were put there
	told     map[string]bool
	changes  []string
}

func (c *fileComparison) tell(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !c.told[text] {
		c.told[text] = true
		c.changes = append(c.changes, text)
	}
}

// lists compares the including lines of two files, by name and by which of its
// name each line is. Lines that there are in one alone are told where the files
// are the same otherwise: else these differ, and that is told.
func (c *fileComparison) lists(now, was []key.Include, same bool) {
	left := make(map[string][]int)
	for _, inc := range was {
		left[inc.Name] = append(left[inc.Name], inc.File)
	}
	for _, inc := range now {
		others := left[inc.Name]
		if len(others) == 0 {
			if same {
				c.only(inc, c.now, "new")
			}
			continue
		}
		left[inc.Name] = others[1:]
		c.targets(inc.Name, inc.File, others[0])
	}
	for _, inc := range was {
		if others := left[inc.Name]; same && len(others) > 0 {
			left[inc.Name] = others[1:]
			c.only(key.Include{Name: inc.Name, File: others[0]}, c.was, "gone")
		}
	}
}

// only tells of a line that there is in one unit alone.
func (c *fileComparison) only(inc key.Include, u *key.Unit, what string) {
	if inc.File >= 0 {
		c.tell("%s is %s", called(inc.Name, u.Files[inc.File].Path), what)
		return
	}
	c.tell("include of %q, which is not there, is %s", bare(inc.Name), what)
}

func (c *fileComparison) targets(name string, now, was int) {
	switch {
	case now < 0 && was < 0:
		return
	case now < 0:
		c.tell("%s is gone", called(name, c.was.Files[was].Path))
		return
	case was < 0:
		c.tell("%s is new", called(name, c.now.Files[now].Path))
		return
	}
	a, b := &c.now.Files[now], &c.was.Files[was]
	switch {
	case a.Digest != b.Digest && a.Path == b.Path:
		c.tell("%s differs", called(name, a.Path))
	case a.Digest != b.Digest, a.Path != b.Path && c.now.Dir != "":
		c.tell("include of %q leads to %s, not %s", bare(name), a.Path, b.Path)
	}
	if pair := [2]int{now, was}; !c.seen[pair] {
		c.seen[pair] = true
		c.todo = append(c.todo, pair)
	}
}

// called says what a line leads to. What a compiler was watched to read has its path for a name.
func called(name, path string) string {
	if bare(name) == name {
		return "file " + path
	}
	return fmt.Sprintf("header %q (%s)", bare(name), path)
}

// bare is a name without its delimiters; a path, which was read without a line that includes it, has none.
func bare(name string) string {
	if len(name) < 2 || name[0] == '/' {
		return name
	}
	return name[1 : len(name)-1]
}

func dirChange(now, was string) string {
	switch {
	case was == "":
		return fmt.Sprintf("it depends on paths now, those below %s", now)
	case now == "":
		return fmt.Sprintf("it depended on paths, those below %s", was)
	}
	return fmt.Sprintf("working directory %q was %q", now, was)
}
