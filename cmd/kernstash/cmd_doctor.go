package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) doctorCommand() *cobra.Command {
	var quick bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find out whether caching works here, and why not",
		Long: `Look at everything that caching needs: the settings, the root with its owner,
permissions and file system, the read-only layers, and each runtime with its
platforms, devices, drivers and compiler libraries.

It does not only look. It stores an entry in the root, reads it again, and
removes it; and for each device it compiles a small program, stores it in a
directory of its own, and starts it from there.

EXIT STATUS
  0  caching works
  1  something is wrong; the report says what, and what to do`,
		Example: `  kernstash doctor
  kernstash doctor --quick
  kernstash doctor --dir /mnt/shared/stash --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), quick) },
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "compile nothing: only look at the devices")
	return cmd
}

// verdict is how a check ended.
type verdict string

// The verdicts.
const (
	verdictOK   verdict = "ok"
	verdictInfo verdict = "info" // a fact
	verdictWarn verdict = "warning"
	verdictFail verdict = "wrong"
)

// finding is one line of the doctor's report.
type finding struct {
	Subject string  `json:"subject"`
	Verdict verdict `json:"verdict"`
	Text    string  `json:"text"`
	Advice  string  `json:"advice,omitempty"` // what to do
}

// doctorReport is what `doctor --json` writes.
type doctorReport struct {
	OK       bool      `json:"ok"`
	Findings []finding `json:"findings"`
}

func (r *doctorReport) add(subject string, v verdict, advice, format string, args ...any) {
	r.Findings = append(r.Findings, finding{subject, v, fmt.Sprintf(format, args...), advice})
	r.OK = r.OK && v != verdictFail
}

func (a *app) doctor(ctx context.Context, quick bool) error {
	r := &doctorReport{OK: true}
	s, err := a.settings()
	if err != nil {
		r.add("settings", verdictFail, "correct the setting; 'kernstash config --explain' says what is accepted", "%v", err)
	} else {
		r.checkSettings(s)
		r.checkRoot(ctx, s)
		r.checkLayers(ctx, s)
	}
	p := a.newProgress()
	r.checkRuntimes(ctx, quick, p)
	p.done()
	if ctx.Err() != nil {
		return context.Cause(ctx) // what was found of late may come of that
	}
	if a.json {
		err = a.writeJSON(r)
	} else {
		err = a.writeFindings(r)
	}
	if err == nil && !r.OK {
		return errFound
	}
	return err
}

func (a *app) writeFindings(r *doctorReport) error {
	t := a.terminal()
	colors := map[verdict]string{verdictOK: green, verdictInfo: "", verdictWarn: yellow, verdictFail: red}
	subject := ""
	for _, f := range r.Findings {
		if f.Subject != subject {
			subject = f.Subject
			a.printf("%s\n", t.paint(bold, printable(subject, false)))
		}
		mark := fmt.Sprintf("%-8s", f.Verdict)
		if color := colors[f.Verdict]; color != "" {
			mark = t.paint(color, mark)
		}
		a.printf("  %s %s\n", mark, printable(f.Text, false))
		if f.Advice != "" {
			a.printf("           %s\n", printable(f.Advice, false))
		}
	}
	return nil
}
