package launch

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/reason"
)

// maxReasons is how many reasons the short table names.
const maxReasons = 4

// write writes the table; full adds every program. Lines fit the width, 0 is any.
func (o *Outcome) write(w io.Writer, full bool, width int) {
	var b bytes.Buffer
	o.writeTable(&b, full, width)
	_, _ = io.WriteString(w, human.WrapLines(b.String(), 4, width))
}

func (o *Outcome) writeTable(w io.Writer, full bool, width int) {
	if o.Outcomes.Asked == 0 {
		fmt.Fprintf(w, "kernstash: nothing was asked of the cache: %s\n", human.Printable(o.Note, false))
		return
	}
	n := o.Outcomes
	fmt.Fprintf(w, "kernstash: %s asked for", human.Plural(n.Asked, "program"))
	if o.Saved > 0 {
		fmt.Fprintf(w, ", %s of compiling saved", human.Time(o.Saved))
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	o.line(t, "in memory", n.Memory, o.spent(runlog.Memory), nil)
	o.line(t, "on disk", n.Disk, o.spent(runlog.Disk), nil)
	o.line(t, "compiled", n.Compiled, o.spent(runlog.Compiled), o.Compiles)
	o.line(t, "refused by the compiler", n.Failed, o.spent(runlog.Failed), o.Failures)
	o.line(t, "passed by", n.Passed, 0, o.Passes)
	_ = t.Flush()
	if o.Note != "" {
		fmt.Fprintf(w, "  %s\n", human.Printable(o.Note, false))
	}
	if o.Warning != "" {
		fmt.Fprintf(w, "  warning: %s\n", human.Printable(o.Warning, false))
	}
	if o.WouldHit > 0 {
		fmt.Fprintf(w, "  observed: %d would have been found; %d built to the same bytes, %d to others\n", o.WouldHit, o.Equal, o.Different)
	}
	if o.Jobs > 0 {
		fmt.Fprintf(w, "  left to be finished in the background: %d\n", o.Jobs)
	}
	if len(o.Out) > 0 {
		fmt.Fprintf(w, "  stayed out of processes: %s\n", reasons(o.Out))
	}
	if full {
		if len(o.FrontEnds) > 0 {
			fmt.Fprintf(w, "  came into processes by: %s\n", reasons(o.FrontEnds))
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
	for _, p := range o.Programs {
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
	// Kernels' names may be long, so they stand at the end, and reasons below.
	const row = "%-12s  %5s  %-8s  %-7s  %-7s  "
	const indent = 12 + 2 + 5 + 2 + 8 + 2 + 7 + 2 + 7 + 2
	fmt.Fprintf(w, row+"PROGRAM\n", "KEY", "TIMES", "OUTCOME", "SPENT", "SAVED")
	text := func(s string) string {
		if s = human.Printable(s, false); s == "" {
			return "–"
		}
		return s
	}
	for _, p := range o.Programs {
		why := p.Nearest
		if why == "" {
			why = inWords(p.Reason)
		}
		if p.Observed != "" {
			why = "would have been found: " + string(p.Observed)
		}
		head := fmt.Sprintf(row, text(p.Key), strconv.Itoa(p.Requests), p.Outcome, human.Time(p.Spent), human.Time(p.Saved))
		_, _ = io.WriteString(w, human.WrapBehind(head, text(shortLabel(p.Label)), indent, width))
		if why != "" {
			_, _ = io.WriteString(w, human.WrapBehind(strings.Repeat(" ", indent), text(why), indent, width))
		}
	}
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

// inWords says for people why a program was compiled; text that is no reason of the disk
// tier is words already.
func inWords(text string) string {
	for r := reason.MissAbsent; r <= reason.ObserveHits; r++ {
		if r.String() == text {
			return r.Words()
		}
	}
	return text
}
