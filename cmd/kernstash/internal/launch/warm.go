package launch

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/timeline"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/runlog"
)

// How a command that ended well ends under --expect-warm.
const (
	statusCold = 3   // it was not warm
	statusNone = 125 // it is not known
)

// expected returns the status that a run ends with where the command ended well: of one that
// nothing was expected of, 0.
func (r *runner) expected(status int) int {
	if !r.options.ExpectWarm {
		return 0
	}
	return status
}

// isCold reports whether requests that ended so had, or may have had, a compiler run: what was
// passed by is compiled by the application's, unless it is a binary.
func isCold(p runlog.Program) bool {
	switch p.Outcome {
	case runlog.Compiled, runlog.Failed:
		return true
	case runlog.Passed:
		return p.Reason != runlog.ReasonBinary
	}
	return false
}

// cold says why a run was not warm, "" if it was.
func (o *Outcome) cold() string {
	n := o.Outcomes
	passed := n.Passed
	if i := slices.IndexFunc(o.Passes, func(c runlog.Count) bool { return c.What == runlog.ReasonBinary }); i >= 0 {
		passed -= o.Passes[i].N
	}
	var texts []string
	for _, c := range []struct {
		n    int
		what string
	}{{n.Compiled, "compiled"}, {n.Failed, "refused by the compiler"}, {passed, "passed by the cache, so that somebody may have compiled"}} {
		if c.n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	switch {
	case n.Asked == 0:
		return "nothing was asked of the cache: " + o.Note
	case len(texts) > 0:
		return fmt.Sprintf("of %s %s", human.Plural(n.Asked, "program"), strings.Join(texts, ", "))
	case o.Cut || o.Garbage > 0:
		return "not all of the report was understood"
	}
	return ""
}

// writeCold says that a run was not warm, and what was compiled.
func (o *Outcome) writeCold(w io.Writer, width int) {
	why := o.Cold
	if o.Outcomes.Asked == 0 {
		why, _, _ = strings.Cut(why, ": ") // the rest was just said
	}
	text := fmt.Sprintf("kernstash: not warm: %s\n", human.Printable(why, false))
	_, _ = io.WriteString(w, human.WrapLines(text, 4, width))
	of := *o
	of.Programs, of.More = slices.DeleteFunc(slices.Clone(o.Programs), func(p runlog.Program) bool { return !isCold(p) }), 0
	if len(of.Programs) > 0 {
		of.writePrograms(w, width)
	}
}

// Run returns when what was.
func (o *Outcome) Run() *timeline.Run {
	return &timeline.Run{
		Command: o.Command, Status: o.Status, Begun: o.Begun, Millis: o.Millis, Requests: o.Timeline, More: o.MoreTimes,
	}
}
