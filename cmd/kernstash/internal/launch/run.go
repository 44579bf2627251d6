// Package launch is `kernstash run`: it brings our libraries into a command and all that it
// starts, runs it, and says in the end what that was worth.
package launch

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/bundles"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/timeline"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/volume"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store/disk"
)

// failed returns the error for what is our part, of which `kernstash run` ends as env(1) does.
func failed(err error) error {
	return &cli.StatusError{Status: 125, Err: fmt.Errorf("run: %w", err)}
}

// runner is a run that is about to begin, or has ended.
type runner struct {
	options   *Options
	path      string             // of the command
	env       environ            // with the settings that were chosen, without what brings us in
	settings  *settings.Settings // that it gives to programs
	variables []Variable         // all that are to be set for the command
	warnings  []string
	target    Target
	outcome   Outcome
	copied    *bundles.Copy // of the bundle; nil: none
	ended     bool          // the command
	warned    bool          // that there is no cache: that says all
}

// prepare works out what a command is to run with. It changes nothing.
func (o *Options) prepare(command []string) (*runner, error) {
	env := environ(os.Environ())
	variables, err := o.Variables()
	if err != nil {
		return nil, err
	}
	r := &runner{options: o}
	if r.path, err = cli.FindCommand(command[0], searchPath(), nil); err != nil {
		return nil, cannotStart(err)
	}
	r.outcome = Outcome{Command: command, Inject: "none"}
	if settings.SwitchedOff(env.get("KERNSTASH_DISABLE")) { // which no flag replaces
		variables = slices.DeleteFunc(variables, func(v Variable) bool { return v.Name == "KERNSTASH_DISABLE" })
	}
	env = env.with(variables)
	// It does not fail: what cannot be used is among the warnings.
	r.settings, _ = settings.Load(settings.Inputs{Environ: env, Lenient: true})
	app, off := "", r.settings.Disable
	r.settings.SwitchOff(func() string {
		app = records.Name(r.path, command)
		return app
	})
	if by := r.settings.Origin("disable"); r.settings.Disable && !off {
		r.outcome.offBy = fmt.Sprintf(": apps-off (%v) names %s", by, app)
	} else if off {
		r.outcome.offBy = fmt.Sprintf(" (%v)", by)
	}
	for _, w := range r.settings.Unsaid() {
		r.warn(w)
	}
	if said := r.settings.SaidValue(); said != "" {
		variables = append(variables, Variable{settings.Said, said})
		env = env.with(variables)
	}
	r.env, r.variables = env, variables
	r.target = Look(r.path)
	r.outcome.Disabled = r.settings.Disable
	if !r.outcome.Disabled {
		r.enter()
	}
	return r, nil
}

func (r *runner) warn(err error) {
	r.warnings = append(r.warnings, human.Printable(err.Error(), false))
}

// searchPath is where execvp(3) searches.
func searchPath() string {
	if path, ok := os.LookupEnv("PATH"); ok {
		return cmp.Or(path, ".")
	}
	return "/bin:/usr/bin"
}

// enter adds what brings the layer in. Without libraries the command runs
// without a cache: it is not to suffer for an installation that is not whole.
func (r *runner) enter() {
	r.options.NoCompilers = r.options.NoCompilers || !r.settings.Compilers
	libraries, variables, missing, err := r.options.Entry(r.env, r.target.preloads())
	if missing != nil {
		r.warn(missing)
	}
	if err != nil {
		r.warn(fmt.Errorf("the command runs without the cache: %w", err))
		r.outcome.Note, r.warned = err.Error(), true
		return
	}
	r.outcome.Inject, r.outcome.Layer, r.outcome.Preload = variables[0].Value, libraries.Layer, libraries.Preload
	r.variables = append(r.variables, variables...)
	if r.options.Triton {
		variables, err := libraries.Triton(r.env)
		if err != nil {
			r.warn(err)
		}
		r.variables = append(r.variables, variables...)
	}
}

// create makes the files that get the report and the trace, or empties them.
func (o *Options) create() error {
	if o.File == "-" {
		return cli.Usagef("--report-file -: want a file, as standard output is the command's; --json writes to standard error")
	}
	if o.Trace == "-" {
		return cli.Usagef("--trace -: want a file, as standard output is the command's")
	}
	for _, file := range []string{o.File, o.Trace} {
		if file == "" {
			continue
		}
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			return failed(err)
		}
	}
	return nil
}

// silent reports whether nothing is to be said in the end, nor done.
func (o *Options) silent() bool { return o.Quiet && o.File == "" && o.Trace == "" && !o.ExpectWarm }

// say writes what is to be said. The command does not wait for somebody to read it, nor do we
// for long, and a pipe that nobody reads does not end us.
func say(to *os.File, text string) {
	if !signal.Ignored(syscall.SIGPIPE) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = to.WriteString(text)
	}()
	select {
	case <-written:
	case <-time.After(time.Second):
	}
}

// tell says how the run ended. report is what the processes under it
// appended. Whatever happens here, the process ends as the command did, but that one that ended
// well ends with a status of ours where it is not what was expected.
func (r *runner) tell(report io.ReadSeeker, to *os.File, end syscall.WaitStatus, begun time.Time, took time.Duration) (status int) {
	defer func() {
		if v := recover(); v != nil {
			say(to, fmt.Sprintf("kernstash: no report: %v\n", v))
			status = r.expected(statusNone)
		}
	}()
	r.note(report, end, begun, took)
	out := &r.outcome
	r.write(to, r.options.File, func(w io.Writer) error { return terminal.EncodeJSON(w, out, "  ") })
	r.write(to, r.options.Trace, func(w io.Writer) error { return timeline.Write(w, out.Run()) })
	var b bytes.Buffer
	switch {
	case r.options.Quiet:
	case r.options.JSON:
		_ = terminal.EncodeJSON(&b, out, "  ") // to memory
	case !r.warned:
		out.write(&b, r.options.Report, terminal.Of(to).Lines)
	}
	if out.Cold != "" && !r.options.Quiet && !r.options.JSON {
		out.writeCold(&b, terminal.Of(to).Lines)
	}
	say(to, b.String())
	r.keep()
	r.startWorker()
	r.trim()
	if out.Cold != "" {
		return r.expected(statusCold)
	}
	return 0
}

// keep keeps the run for `kernstash report`: what asked for what, and no arguments, which may hold anything.
func (r *runner) keep() {
	if r.outcome.Outcomes.Asked == 0 || !r.settings.Records || !r.settings.Writable() || r.settings.Dir == "" {
		return
	}
	run := r.outcome.Run()
	run.Command = []string{records.Name(r.path, r.outcome.Command)}
	run.Requests = append([]runlog.Span{}, run.Requests...) // none is no null
	run.Programs, run.MorePrograms = r.outcome.Programs, r.outcome.More
	run.From = timeline.From{Layers: r.outcome.Layers, Restored: r.outcome.Restored}
	d := disk.New(disk.Options{Dir: r.settings.Dir})
	defer d.Close()
	_ = run.Keep(timeline.LastOf(d)) // the command has ended well without
}

// write writes one of the files that the options name, "" for none.
func (r *runner) write(to *os.File, file string, content func(io.Writer) error) {
	if file == "" {
		return
	}
	var b bytes.Buffer
	err := content(&b)
	if err == nil {
		err = os.WriteFile(file, b.Bytes(), 0o666)
	}
	if err != nil {
		say(to, fmt.Sprintf("kernstash: %s\n", human.Printable(err.Error(), false)))
	}
}

// note fills in the outcome.
func (r *runner) note(report io.ReadSeeker, end syscall.WaitStatus, begun time.Time, took time.Duration) {
	out := &r.outcome
	out.Status, out.Millis, out.Begun = statusOf(end), human.Millis(took), begun.UTC()
	if end.Signaled() {
		out.Signal = end.Signal().String()
	}
	s := takeReport(report, r.env.get(runlog.Variable))
	if s.Outcomes.Compiled > 0 && r.settings.Writable() && r.settings.Dir != "" {
		explain(s, r.settings.Dir, time.Now().Add(-took))
		out.Warning = warning(r.settings, s)
	}
	out.fill(s)
	out.look(r.settings.Dir)
	r.lookAtBundle()
	if out.Note == "" {
		out.Note = out.why(r.target)
	}
	if r.options.ExpectWarm {
		out.Cold = out.cold()
	}
}

// statusOf is the exit status as shells give it: 128 and the number of the signal, if one ended it.
func statusOf(end syscall.WaitStatus) int {
	if end.Signaled() {
		return 128 + int(end.Signal())
	}
	return end.ExitStatus()
}

// takeReport reads what processes have reported, and tells it outer, the file of a run around us.
func takeReport(report io.ReadSeeker, outer string) *runlog.Summary {
	_, _ = report.Seek(0, io.SeekStart)
	if outer != "" {
		_ = runlog.At(outer).Copy(report) // nobody is there to be told of an error
		_, _ = report.Seek(0, io.SeekStart)
	}
	s, _ := runlog.Read(report) // what was read before an error is better than nothing
	return s
}

// warning says why what was compiled may not be kept, "" if it may.
func warning(in *settings.Settings, s *runlog.Summary) string {
	if text := volume.Trouble(in.Dir); text != "" {
		return text + "; what was compiled may not have been kept"
	}
	quick := 0
	for _, p := range s.Programs {
		if p.Outcome == runlog.Compiled && p.Spent < time.Duration(p.Requests)*in.MinBuildTime {
			quick += p.Requests
		}
	}
	if quick > 0 {
		return fmt.Sprintf("%d of what was compiled took less than the setting min-build-time says, %v: it may not have been kept", quick, in.MinBuildTime)
	}
	return ""
}
