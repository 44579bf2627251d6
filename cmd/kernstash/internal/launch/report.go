package launch

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/runlog"
)

// maxReasons is how many reasons the short table names.
const maxReasons = 4

// write writes the table; full adds every program. Lines fit the width, 0 is any.
func (o *Outcome) write(w io.Writer, full bool, width int) {
	var b bytes.Buffer
	o.writeTable(&b, full, width)
	text := b.String()
	if width > 0 {
		text = human.WrapLines(text, 4, width)
	}
	_, _ = io.WriteString(w, text)
}

// width returns how wide a descriptor is, 0 where it is no terminal and COLUMNS does not
// say.
func width(env environ, of int) int {
	const narrow = 40 // the least that is written for
	n, _, err := term.GetSize(of)
	if err != nil || n <= 0 {
		n, _ = strconv.Atoi(env.get("COLUMNS"))
	}
	if n <= 0 {
		return 0
	}
	return max(n, narrow)
}

func (o *Outcome) writeTable(w io.Writer, full bool, width int) {
	if o.Programs.Asked == 0 {
		fmt.Fprintf(w, "kernstash: nothing was asked of the cache: %s\n", human.Printable(o.Note, false))
		return
	}
	s, n := o.summary, o.Programs
	fmt.Fprintf(w, "kernstash: %s asked for", human.Plural(n.Asked, "program"))
	if s.Saved > 0 {
		fmt.Fprintf(w, ", %s of compiling saved", human.Time(s.Saved))
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	o.line(t, "in memory", n.Memory, o.spent(runlog.Memory), nil)
	o.line(t, "on disk", n.Disk, o.spent(runlog.Disk), nil)
	o.line(t, "compiled", n.Compiled, o.spent(runlog.Compiled), s.Compiles)
	o.line(t, "refused by the compiler", n.Failed, o.spent(runlog.Failed), s.Failures)
	o.line(t, "passed by", n.Passed, 0, s.Passes)
	_ = t.Flush()
	if o.Note != "" {
		fmt.Fprintf(w, "  %s\n", human.Printable(o.Note, false))
	}
	if o.Warning != "" {
		fmt.Fprintf(w, "  warning: %s\n", human.Printable(o.Warning, false))
	}
	if s.WouldHit > 0 {
		fmt.Fprintf(w, "  observed: %d would have been found; %d built to the same bytes, %d to others\n", s.WouldHit, s.Equal, s.Different)
	}
	if s.Jobs > 0 {
		fmt.Fprintf(w, "  left to be finished in the background: %d\n", s.Jobs)
	}
	if len(s.Out) > 0 {
		fmt.Fprintf(w, "  stayed out of processes: %s\n", reasons(s.Out))
	}
	if full {
		if len(s.Doors) > 0 {
			fmt.Fprintf(w, "  came into processes by: %s\n", reasons(s.Doors))
		}
		o.writePrograms(w, width)
	}
	if o.Cut || o.Garbage > 0 {
		fmt.Fprintf(w, "  not all was understood (%d lines; cut off: %v)\n", o.Garbage, o.Cut)
	}
}

func (o *Outcome) line(w io.Writer, name string, n int, spent time.Duration, why []runlog.Count) {
	if n == 0 {
		return
	}
	time := "–"
	if spent > 0 {
		time = human.Time(spent)
	}
	fmt.Fprintf(w, "  %s\t%d\t%s", name, n, time)
	if text := reasons(why); text != "" {
		fmt.Fprintf(w, "\t%s", text)
	}
	fmt.Fprintln(w)
}

func (o *Outcome) spent(of runlog.Outcome) (d time.Duration) {
	for _, p := range o.summary.Programs {
		if p.Outcome == of {
			d += p.Spent
		}
	}
	return d
}

// reasons names the most frequent of them.
func reasons(all []runlog.Count) string {
	var b strings.Builder
	for i, c := range all {
		if i == maxReasons {
			fmt.Fprintf(&b, ", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		what := human.Printable(inWords(c.What), false)
		if what == "" {
			what = "no reason given"
		}
		b.WriteString(what)
		if c.N > 1 || len(all) > 1 {
			fmt.Fprintf(&b, ": %d", c.N)
		}
	}
	return b.String()
}

func (o *Outcome) writePrograms(w io.Writer, width int) {
	var b bytes.Buffer
	// Kernels' names may be long, so they stand at the end, and reasons below.
	const row = "%-12s  %5s  %-8s  %-7s  %-7s  "
	const indent = 12 + 2 + 5 + 2 + 8 + 2 + 7 + 2 + 7 + 2
	fmt.Fprintf(&b, row+"PROGRAM\n", "KEY", "TIMES", "OUTCOME", "SPENT", "SAVED")
	line := func(head, text string) {
		if width == 0 {
			fmt.Fprintf(&b, "%s%s\n", head, text)
			return
		}
		b.WriteString(human.WrapBehind(head, text, indent, width))
	}
	text := func(s string) string {
		if s = human.Printable(s, false); s == "" {
			return "–"
		}
		return s
	}
	for _, p := range o.summary.Programs {
		why := p.Nearest
		if why == "" {
			why = inWords(p.Reason)
		}
		if p.Observed != "" {
			why = "would have been found: " + string(p.Observed)
		}
		line(fmt.Sprintf(row, text(p.Key), strconv.Itoa(p.Requests), p.Outcome, human.Time(p.Spent), human.Time(p.Saved)),
			text(shortLabel(p.Label)))
		if why != "" {
			line(strings.Repeat(" ", indent), text(why))
		}
	}
	_, _ = w.Write(b.Bytes())
	if o.More > 0 {
		fmt.Fprintf(w, "and %d more\n", o.More)
	}
}

// shortLabel names a program by a few of its kernels.
func shortLabel(label string) string {
	short := human.Names(strings.Split(label, ", "))
	if strings.HasSuffix(label, "…") && short != label {
		// The label itself was cut.
		return strings.Replace(short, " and ", " and at least ", 1)
	}
	return short
}
