package compare

import (
	"fmt"

	"github.com/kernstash/kernstash/key"
)

// compareFiles says what changed in the header files that two units read. It
// goes through both from their code on, and compares what lines of the same
// name lead to: so a header that is found elsewhere now is told from one that
// is new.
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
		c.tell("header %q (%s) is %s", bare(inc.Name), u.Files[inc.File].Path, what)
		return
	}
	c.tell("include of %q, which is not there, is %s", bare(inc.Name), what)
}

func (c *fileComparison) targets(name string, now, was int) {
	switch {
	case now < 0 && was < 0:
		return
	case now < 0:
		c.tell("header %q (%s) is gone", bare(name), c.was.Files[was].Path)
		return
	case was < 0:
		c.tell("header %q (%s) is new", bare(name), c.now.Files[now].Path)
		return
	}
	a, b := &c.now.Files[now], &c.was.Files[was]
	switch {
	case a.Digest != b.Digest && a.Path == b.Path:
		c.tell("header %q (%s) differs", bare(name), a.Path)
	case a.Digest != b.Digest, a.Path != b.Path && c.now.Dir != "":
		c.tell("include of %q leads to %s, not %s", bare(name), a.Path, b.Path)
	}
	if pair := [2]int{now, was}; !c.seen[pair] {
		c.seen[pair] = true
		c.todo = append(c.todo, pair)
	}
}

// bare is a name without its delimiters.
func bare(name string) string {
	if len(name) < 2 {
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
