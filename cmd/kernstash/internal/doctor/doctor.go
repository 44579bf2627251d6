// Package doctor finds out whether caching works here, and why not.
package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/runlog"
)

// Report is what `doctor --json` writes.
type Report struct {
	OK       bool           `json:"ok"`
	Verdict  string         `json:"verdict"` // in one line
	Findings []tool.Finding `json:"findings"`

	// Of a command: what it took, what it waited for the cache and what that serves, and for
	// which of it, those that took longest first.
	Millis   float64      `json:"elapsed_ms,omitzero"`
	WaitedMS float64      `json:"waited_ms,omitzero"`
	Uses     []runlog.Use `json:"uses,omitempty"`
}

// Add adds a finding.
func (r *Report) Add(subject string, v tool.Verdict, advice, format string, args ...any) {
	r.Findings = append(r.Findings, tool.Finding{Subject: subject, Verdict: v, Text: fmt.Sprintf(format, args...), Advice: advice})
	r.OK = r.OK && v != tool.Fail
}

// Run looks at everything that caching needs; if quick is set it compiles nothing.
func Run(ctx context.Context, a *cli.App, quick bool) error {
	r := &Report{OK: true}
	s, err := a.Settings()
	if err != nil {
		r.Add("settings", tool.Fail, "correct the setting; 'kernstash config --explain' says what is accepted", "%v", err)
	} else {
		r.checkSettings(s)
		r.checkRoot(ctx, s)
		r.checkLayers(ctx, s)
		r.checkAgent(ctx, s)
		r.checkFrameworks(s)
	}
	r.checkEntry()
	p := a.Progress()
	r.checkRuntimes(ctx, quick, p)
	p.Done()
	if ctx.Err() != nil {
		return context.Cause(ctx) // what was found of late may come of that
	}
	r.Verdict = r.inOneLine()
	return a.Report(r, r.OK, func() { writeFindings(a, r) })
}

// inOneLine reports whether caching works, and what is to be done first.
func (r *Report) inOneLine() string {
	subjects := make(map[tool.Verdict][]string)
	for _, f := range r.Findings {
		subjects[f.Verdict] = append(subjects[f.Verdict], f.Subject)
	}
	wrong, warnings := subjects[tool.Fail], subjects[tool.Warn]
	switch {
	case len(wrong) == 1:
		return "caching does not work: " + wrong[0]
	case len(wrong) > 1:
		return fmt.Sprintf("caching does not work: %s, and %d more", wrong[0], len(wrong)-1)
	case len(warnings) > 0:
		return fmt.Sprintf("caching works, with %s: %s", human.Plural(len(warnings), "warning"), warnings[0])
	}
	return "caching works"
}

func writeFindings(a *cli.App, r *Report) {
	t := a.Terminal()
	color := terminal.Green
	if !r.OK {
		color = terminal.Red
	}
	a.Printf("%s\n\n", t.Paint(color, human.Printable(r.Verdict, false)))
	colors := map[tool.Verdict]string{tool.OK: terminal.Green, tool.Info: terminal.Plain, tool.Warn: terminal.Yellow, tool.Fail: terminal.Red}
	subject := ""
	for _, f := range r.Findings {
		if f.Subject != subject {
			subject = f.Subject
			a.Printf("%s\n", t.Paint(terminal.Bold, human.Printable(subject, false)))
		}
		mark := t.Paint(colors[f.Verdict], fmt.Sprintf("%-8s", f.Verdict))
		const indent = 11
		a.Printf("%s", human.WrapBehind("  "+mark+" ", human.Printable(f.Text, false), indent, t.Width))
		if f.Advice != "" {
			a.Printf("%s", human.WrapBehind(strings.Repeat(" ", indent), human.Printable(f.Advice, false), indent, t.Width))
		}
	}
}
