package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/timeline"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/reason"
)

// runsReport is what `diff FILE FILE --json` writes.
type runsReport struct {
	A        runReport `json:"a"`
	B        runReport `json:"b"`
	Alike    int       `json:"alike"`    // programs that both loaded, or both did not
	Programs []program `json:"programs"` // the others, what took longest to compile first
}

// runReport is a run.
type runReport struct {
	File        string   `json:"file"`
	Command     []string `json:"command"`
	Programs    int      `json:"programs"`
	Loaded      int      `json:"loaded"`
	CompilingMS float64  `json:"compiling_ms"`
	More        int      `json:"requests_more,omitempty"` // that the report has not
}

// program is a program that only one of two runs asked for, or loaded.
type program struct {
	KeyA    string         `json:"key_a,omitempty"`
	KeyB    string         `json:"key_b,omitempty"`
	A       runlog.Outcome `json:"a,omitempty"` // "": it was not asked for
	B       runlog.Outcome `json:"b,omitempty"`
	SpentMS float64        `json:"spent_ms"` // by the run that did not load it, or alone asked for it
	Reason  string         `json:"reason,omitempty"`
	Nearest string         `json:"nearest,omitempty"`
	entries.LabelReport

	label string
}

// Runs compares the reports of two runs.
func Runs(a *cli.App, files [2]string) error {
	var of [2]map[string]*runlog.Program
	var about [2]runReport
	for i, file := range files {
		run, err := timeline.ReadPrograms(file)
		if err != nil {
			return fmt.Errorf("diff: %w", err)
		}
		of[i] = programs(run)
		about[i] = runReport{File: file, Command: run.Command, Programs: len(of[i]), More: run.MorePrograms}
		for _, p := range of[i] {
			if loaded(p) {
				about[i].Loaded++
			} else {
				about[i].CompilingMS += human.Millis(p.Spent)
			}
		}
	}
	r := runsReport{A: about[0], B: about[1], Programs: []program{}}
	for _, pair := range pairs(of[0], of[1]) {
		switch one, other := pair[0], pair[1]; {
		case one != nil && other != nil && loaded(one) == loaded(other):
			r.Alike++
		default:
			r.Programs = append(r.Programs, programOf(one, other))
		}
	}
	slices.SortFunc(r.Programs, func(a, b program) int {
		return cmp.Or(cmp.Compare(b.SpentMS, a.SpentMS), cmp.Compare(a.label, b.label), cmp.Compare(a.KeyA+a.KeyB, b.KeyA+b.KeyB))
	})
	return a.Report(r, true, func() { r.write(a) })
}

func loaded(p *runlog.Program) bool { return p.Outcome == runlog.Disk || p.Outcome == runlog.Memory }

// programs returns the programs of a run by key, or by name where there is none. One that was ever compiled was compiled.
func programs(run *timeline.Run) map[string]*runlog.Program {
	all := make(map[string]*runlog.Program)
	for _, p := range run.Programs {
		id := cmp.Or(p.Key, "\x00"+p.Label)
		switch was := all[id]; {
		case was == nil:
			all[id] = &p
		case loaded(was) && !loaded(&p):
			p.Label = cmp.Or(p.Label, was.Label)
			all[id] = &p
		case loaded(was) == loaded(&p):
			was.Spent += p.Spent
			was.Label = cmp.Or(was.Label, p.Label)
		}
	}
	return all
}

// pairs pairs programs of one key, then those of one name: another driver gives another key. What is left has no other.
func pairs(a, b map[string]*runlog.Program) (all [][2]*runlog.Program) {
	left := make(map[string][]*runlog.Program) // of b, by name
	for _, id := range sorted(b) {
		if a[id] == nil {
			left[b[id].Label] = append(left[b[id].Label], b[id])
		}
	}
	for _, id := range sorted(a) {
		one, other := a[id], b[id]
		if same := left[one.Label]; other == nil && one.Label != "" && len(same) > 0 {
			other, left[one.Label] = same[0], same[1:]
		}
		all = append(all, [2]*runlog.Program{one, other})
	}
	for _, rest := range left {
		for _, other := range rest {
			all = append(all, [2]*runlog.Program{nil, other})
		}
	}
	return all
}

func sorted(of map[string]*runlog.Program) (ids []string) {
	for id := range of {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func programOf(a, b *runlog.Program) (p program) {
	why := a
	if a == nil || b != nil && loaded(a) {
		why = b
	}
	p = program{label: why.Label, LabelReport: entries.ReportLabel(why.Label), SpentMS: human.Millis(why.Spent), Reason: why.Reason, Nearest: why.Nearest}
	if a != nil {
		p.KeyA, p.A = a.Key, a.Outcome
	}
	if b != nil {
		p.KeyB, p.B = b.Key, b.Outcome
	}
	return p
}

func (r *runsReport) write(a *cli.App) {
	width := a.Terminal().Lines
	for i, run := range []runReport{r.A, r.B} {
		text := fmt.Sprintf("%c  %s, %s: %s, %d loaded", 'A'+i, run.File, strings.Join(run.Command, " "), human.Plural(run.Programs, "program"), run.Loaded)
		if run.Loaded < run.Programs {
			text += fmt.Sprintf(", %d not, in %s", run.Programs-run.Loaded, took(run.CompilingMS))
		}
		if run.More > 0 {
			text += fmt.Sprintf("; %d more are not in the report", run.More)
		}
		a.Printf("%s", human.WrapLines(human.Printable(text, false)+"\n", 3, width))
	}
	const row, indent = "%-12s  %-8s  %-8s  %9s  ", 12 + 2 + 8 + 2 + 8 + 2 + 9 + 2
	if len(r.Programs) > 0 {
		a.Printf(row+"%s\n", "KEY", "A", "B", "TOOK", "KERNELS")
	}
	for _, p := range r.Programs {
		key := cmp.Or(p.KeyB, p.KeyA, "–")
		head := fmt.Sprintf(row, human.Printable(key[:min(len(key), 12)], false), cmp.Or(p.A, "–"), cmp.Or(p.B, "–"), took(p.SpentMS))
		a.Printf("%s", human.WrapBehind(head, entries.Label(p.label), indent, width))
		if why := p.why(); why != "" {
			a.Printf("%s", human.WrapBehind(strings.Repeat(" ", 14), human.Printable(why, false), 14, width))
		}
	}
	if r.Alike > 0 {
		a.Printf("%s alike\n", human.Plural(r.Alike, "program"))
	}
}

// why says why it was not loaded.
func (p *program) why() string {
	text := cmp.Or(p.Nearest, reason.Named(p.Reason).Words(), p.Reason)
	if p.KeyA != "" && p.KeyB != "" && p.KeyA != p.KeyB {
		text = strings.TrimSuffix("the keys differ; "+text, "; ")
	}
	return text
}

func took(ms float64) string { return human.Time(time.Duration(ms * float64(time.Millisecond))) }
