package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) doctorCommand() *cobra.Command {
	var quick bool
	cmd := &cobra.Command{
		Use:   "doctor [-- COMMAND [ARG...]]",
		Short: "Find out whether caching works here, and why not",
		Long: `Look at everything that caching needs: the settings, the root with its owner,
permissions and file system, the read-only layers, what brings the cache into
unchanged applications here, and each runtime with its platforms, devices, drivers,
their own caches, and compiler libraries.

The first line says whether caching works. It does not only look. It stores an entry
in the root, reads it again, and removes it (where there is no root yet, in a
temporary directory where it would be made); and for each device it compiles a
small program, stores it in a directory of its own, and starts it from there.

With a command it runs that, without the cache, and names the run-time compilers
that it and all that it starts really load: those that 'kernstash run' serves, and
those that it does not. (The dynamic linker says so: static programs, and those
with rights that you have not, cannot be seen.) With --json the command's output
goes to standard error.

EXIT STATUS
  0  caching works; the command was run
  1  something is wrong, or there is no device; the report says what, and what to do`,
		Example: `  kernstash doctor
  kernstash doctor --quick
  kernstash doctor --dir /mnt/shared/stash --json
  kernstash doctor -- python3 train.py`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case len(args) > 0 && dash != 0:
				return usagef("doctor %s: a command is given behind --: kernstash doctor -- %[1]s", args[0])
			case dash == 0 && len(args) == 0:
				return usagef("doctor --: which command?")
			case len(args) > 0:
				return a.doctorOf(cmd.Context(), args)
			}
			return a.doctor(cmd.Context(), quick)
		},
		ValidArgsFunction: completeCommand,
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
	Verdict  string    `json:"verdict"` // in one line
	Findings []finding `json:"findings"`

	devices bool // there is one
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
	r.checkEntry()
	p := a.newProgress()
	r.checkRuntimes(ctx, quick, p)
	p.done()
	if ctx.Err() != nil {
		return context.Cause(ctx) // what was found of late may come of that
	}
	r.Verdict = r.inOneLine()
	if a.json {
		err = a.writeJSON(r)
	} else {
		a.writeFindings(r)
	}
	if err == nil && !r.OK {
		return errFound
	}
	return err
}

// inOneLine says whether caching works, and what is to be done first.
func (r *doctorReport) inOneLine() string {
	var wrong, warnings []finding
	for _, f := range r.Findings {
		switch f.Verdict {
		case verdictFail:
			wrong = append(wrong, f)
		case verdictWarn:
			warnings = append(warnings, f)
		}
	}
	switch {
	case len(wrong) == 1:
		return fmt.Sprintf("caching does not work: %s", wrong[0].Subject)
	case len(wrong) > 1:
		return fmt.Sprintf("caching does not work: %s, and %d more", wrong[0].Subject, len(wrong)-1)
	case !r.OK:
		return "caching does not work"
	case len(warnings) > 0:
		return fmt.Sprintf("caching works, with %s: %s", plural(len(warnings), "warning"), warnings[0].Subject)
	}
	return "caching works"
}

func (a *app) writeFindings(r *doctorReport) {
	t := a.terminal()
	color := green
	if !r.OK {
		color = red
	}
	a.printf("%s\n\n", t.paint(color, printable(r.Verdict, false)))
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
		const indent = 11
		a.printf("%s", wrapBehind("  "+mark+" ", printable(f.Text, false), indent, t.width))
		if f.Advice != "" {
			a.printf("%s", wrapBehind(strings.Repeat(" ", indent), printable(f.Advice, false), indent, t.width))
		}
	}
}
