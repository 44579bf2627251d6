package launch

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/bundles"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/frameworks"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/reason"
)

// write writes the table; full adds every program. Lines fit the width, 0 is any.
func (o *Outcome) write(w io.Writer, full bool, width int) {
	var b bytes.Buffer
	o.writeTable(&b, full, width)
	_, _ = io.WriteString(w, human.WrapLines(b.String(), 4, width))
}

func (o *Outcome) writeTable(w io.Writer, full bool, width int) {
	if o.Outcomes.Asked == 0 {
		fmt.Fprintf(w, "kernstash: nothing was asked of the cache: %s\n%s", human.Printable(o.Note, false), o.frameworksText(full)+o.Restored.Text())
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
	o.line(t, "on disk", n.Disk, o.spent(runlog.Disk), o.layers())
	o.line(t, "compiled", n.Compiled, o.Compiled, o.Compiles)
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
	fmt.Fprint(w, o.frameworksText(full)+o.Restored.Text())
	if len(o.Out) > 0 {
		fmt.Fprintf(w, "  stayed out of processes: %s\n", Reasons(o.Out))
	}
	if full {
		if len(o.FrontEnds) > 0 {
			fmt.Fprintf(w, "  came into processes by: %s\n", Reasons(o.FrontEnds))
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
	fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %s\t%d\t%s\t%s", name, n, time, Reasons(why)), "\t"))
}

// layers says what was found in read-only layers and in remotes.
func (o *Outcome) layers() (all []runlog.Count) {
	for _, l := range o.Layers {
		all = append(all, runlog.Count{What: "from " + l.What, N: l.N})
	}
	return all
}

func (o *Outcome) spent(of runlog.Outcome) (d time.Duration) {
	for _, p := range o.Programs {
		if p.Outcome == of {
			d += p.Spent
		}
	}
	return d
}

// Reasons names the most frequent ones.
func Reasons(all []runlog.Count) string {
	const most = 4
	var texts []string
	for _, c := range all[:min(len(all), most)] {
		text := cmp.Or(human.Printable(inWords(c.What), false), "no reason given")
		if c.N > 1 || len(all) > 1 {
			text += fmt.Sprintf(": %d", c.N)
		}
		texts = append(texts, text)
	}
	if len(all) > most {
		texts = append(texts, "…")
	}
	return strings.Join(texts, ", ")
}

func (o *Outcome) writePrograms(w io.Writer, width int) {
	// Kernels' names may be long, so they stand at the end, and reasons below.
	const row = "%-12s  %5s  %-8s  %-7s  %-7s  "
	const indent = 12 + 2 + 5 + 2 + 8 + 2 + 7 + 2 + 7 + 2
	fmt.Fprintf(w, row+"PROGRAM\n", "KEY", "TIMES", "OUTCOME", "SPENT", "SAVED")
	text := func(s string) string { return cmp.Or(human.Printable(s, false), "–") }
	for _, p := range o.Programs {
		why := cmp.Or(p.Nearest, inWords(p.Reason))
		if p.Observed != "" {
			why = "would have been found: " + string(p.Observed)
		}
		saved := "–"
		if p.Saved > 0 {
			saved = human.Time(p.Saved)
		}
		head := fmt.Sprintf(row, text(p.Key), strconv.Itoa(p.Requests), p.Outcome, human.Time(p.Spent), saved)
		fmt.Fprint(w, human.WrapBehind(head, entries.Label(p.Label), indent, width))
		if why != "" {
			fmt.Fprint(w, human.WrapBehind(strings.Repeat(" ", indent), text(why), indent, width))
		}
	}
	if o.More > 0 {
		fmt.Fprintf(w, "and %d more\n", o.More)
	}
}

// inWords says for people why a program was compiled. What is no reason of the disk is words already.
func inWords(text string) string {
	for r := reason.MissAbsent; r <= reason.MissRemote; r++ {
		if r.String() == text {
			return r.Words()
		}
	}
	return text
}

// Outcome is a run that has ended: what --json and --report-file write, and people are told of.
type Outcome struct {
	Command []string  `json:"command"`
	Status  int       `json:"exit_status"`      // as shells give it
	Signal  string    `json:"signal,omitempty"` // that the command died by
	Millis  float64   `json:"elapsed_ms"`
	Begun   time.Time `json:"begun"`
	Cold    string    `json:"cold,omitempty"` // why it was not warm, where that was expected

	Inject   string `json:"inject"`            // auto, layer, preload, or none
	Layer    string `json:"layer,omitempty"`   // the file
	Preload  string `json:"preload,omitempty"` // likewise, of what stands before other compilers
	Disabled bool   `json:"disabled"`
	offBy    string // who disabled it, in words
	Note     string `json:"note,omitempty"`    // why nothing was asked for
	Warning  string `json:"warning,omitempty"` // why what was compiled may not be kept

	SpentMS    float64 `json:"spent_ms"`    // on all programs
	CompiledMS float64 `json:"compiled_ms"` // compiling, where programs that a process compiles at once share the time
	SavedMS    float64 `json:"saved_ms"`

	Frameworks []frameworks.Decision `json:"frameworks,omitempty"`      // whose own caches were switched on, or why not
	Kept       []frameworks.Cache    `json:"frameworks_kept,omitempty"` // what they hold now

	Restored *bundles.Used `json:"restored,omitempty"` // what was used of the bundle

	runlog.Summary
}

// fill takes over what the processes have reported.
func (o *Outcome) fill(s *runlog.Summary) {
	o.Summary = *s
	o.SpentMS, o.CompiledMS, o.SavedMS = human.Millis(s.Spent), human.Millis(s.Compiled), human.Millis(s.Saved)
}

// unsure is what is said where the library is another release's, or declines.
const unsure = "library of another release, or off"

// why says why nothing was asked of the cache, "" if something was.
func (o *Outcome) why(t Target) string {
	switch {
	case o.Disabled:
		return "the cache was switched off" + o.offBy
	case o.Outcomes.Asked > 0 && slices.Contains(o.Passes, runlog.Count{What: runlog.ReasonBinary, N: o.Outcomes.Asked}):
		return fmt.Sprintf("the application's own cache answered: it made %s of binaries that it had kept",
			human.Plural(o.Outcomes.Asked, "program"))
	case o.Outcomes.Asked > 0:
		return ""
	case len(o.Out) > 0:
		var reasons []string
		for _, c := range o.Out {
			if c.What != unsure || len(o.Out) == 1 { // else the library has said why
				reasons = append(reasons, c.What)
			}
		}
		return "the layer was loaded and stayed out: " + strings.Join(reasons, ", ")
	case len(o.FrontEnds) > 0:
		n := 0
		for _, c := range o.FrontEnds {
			n += c.N
		}
		return fmt.Sprintf("the cache was loaded in %s, which built no program", human.Plural(n, "process"))
	}
	text := "the layer was not loaded: " + o.notLoaded(t)
	if o.Preload != "" && t.program != nil && !t.program.static {
		text += "; and no other compiler that the cache serves was called"
	}
	return text
}

const setIDText = " runs with rights that you have not (set-user-id, or file capabilities)"

// Unseen says why nothing is seen of what a command loads.
func (t Target) Unseen() string {
	name := filepath.Base(t.File)
	switch {
	case t.SetID:
		return name + setIDText
	case t.program != nil && t.program.static:
		return name + " is linked statically: it loads nothing, and nothing can be loaded into it"
	}
	return "the dynamic linker of " + name + " did not report what it loads: it is not glibc's"
}

func (o *Outcome) notLoaded(t Target) string {
	name := filepath.Base(t.File)
	of := name
	if t.Script != "" {
		of = fmt.Sprintf("%s (a script, run by %s)", name, t.Script)
	}
	switch {
	case t.SetID:
		return of + setIDText
	case t.program == nil:
		return of + " started no program that compiles for a GPU"
	case !t.fits():
		return fmt.Sprintf("%s is %s, the layer is not for that", of, kindOf(t.program))
	case t.program.static:
		return of + " is linked statically: nothing can be loaded into it"
	}
	text := of + " made no " + runtimes.Layered() + " program, nor did what it started"
	if o.Preload == "" {
		text += "; where nothing stands before dlsym, a library that a program opens itself goes without the cache"
	}
	return text
}
