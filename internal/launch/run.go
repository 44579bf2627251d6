package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/internal/supervise"
)

// What `kernstash run` itself ends with, as env(1) does.
const (
	statusFailed = 125 // we could not do our part
	statusUsage  = 2
)

// Run runs a command as the options say and ends this process as the command
// ends. It returns only where it has not come to that: an ErrUsage, or any other
// error, and the status to end with.
func Run(o *Options, command []string) (status int, err error) {
	if len(command) == 0 {
		return statusUsage, usagef("run: which command?")
	}
	if !supervise.Supported {
		return statusFailed, fmt.Errorf("run: %w", supervise.ErrUnsupported)
	}
	r, err := o.prepare(command)
	if err != nil {
		var start *supervise.StartError
		switch {
		case errors.Is(err, ErrUsage):
			return statusUsage, err
		case errors.As(err, &start):
			return start.Status(), fmt.Errorf("run: %w", err)
		}
		return statusFailed, fmt.Errorf("run: %w", err)
	}
	if r.report == nil {
		err = supervise.Exec(r.command)
	} else {
		err = r.supervise(o)
	}
	var start *supervise.StartError
	if errors.As(err, &start) {
		return start.Status(), fmt.Errorf("run: %w", err)
	}
	return statusFailed, fmt.Errorf("run: %w", err)
}

// runner is a run that is about to begin.
type runner struct {
	command supervise.Command
	env     environ // with the settings that were chosen, without what brings us in
	target  Target
	outcome Outcome
	report  *os.File // nil: nobody wants to know
	json    *os.File // nil: likewise
	outer   string   // the report of the run around us
	warned  bool     // that there is no cache: that says all
}

func (o *Options) prepare(command []string) (*runner, error) {
	env := environ(os.Environ())
	settings, err := o.Variables()
	if err != nil {
		return nil, err
	}
	file, err := supervise.Find(command[0], searchPath(env))
	if err != nil {
		return nil, err
	}
	r := &runner{outer: env.get(runlog.Variable)}
	r.outcome = Outcome{Command: command, Door: "none"}
	env = env.with(settings)
	r.env = env
	r.outcome.Disabled = env.get("KERNSTASH_DISABLE") == "1"
	if !r.outcome.Disabled {
		r.target = Look(file, env)
		if env, err = r.enter(env, o); err != nil {
			return nil, err
		}
	}
	if o.JSON != "" {
		if r.json, err = os.OpenFile(o.JSON, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666); err != nil {
			return nil, err
		}
	}
	if !o.Quiet || r.json != nil {
		if r.report, err = newReport(env); err != nil {
			// A system with nowhere to write is no reason not to run.
			say(fmt.Sprintf("kernstash: warning: there will be no report: %s\n", human.Printable(err.Error(), false)))
		} else {
			env = env.with([]Variable{{runlog.Variable, r.report.Name()}})
		}
	}
	r.command = supervise.Command{Path: file, Args: command, Env: env}
	return r, nil
}

// searchPath is where execvp(3) searches.
func searchPath(env environ) string {
	if path, ok := env.lookup("PATH"); ok {
		if path == "" {
			return "."
		}
		return path
	}
	return "/bin:/usr/bin"
}

// enter adds what brings the layer in. Without libraries the command runs
// without a cache: it is not to suffer for an installation that is not whole.
func (r *runner) enter(env environ, o *Options) (environ, error) {
	door, err := r.target.Door(o.Door)
	if err != nil {
		return nil, err
	}
	r.outcome.Loader = r.target.Loader
	self, err := os.Executable()
	var libraries Libraries
	if err == nil {
		libraries, err = Find(env, self)
	}
	if !r.target.Preloads() {
		door = DoorLayer // which does no harm where it does nothing
	}
	if o.NoPreload || !r.target.Preloads() {
		libraries.Preload = ""
	}
	libraries, cannot := libraries.Preloadable()
	if cannot != nil {
		say(fmt.Sprintf("kernstash: warning: %s\n", human.Printable(cannot.Error(), false)))
	}
	var variables []Variable
	if err == nil {
		variables, err = Variables(env, libraries, door)
	}
	if err != nil {
		say(fmt.Sprintf("kernstash: warning: the command runs without the cache: %v\n", err))
		r.outcome.Note, r.warned = err.Error(), true
		return env, nil
	}
	r.outcome.Door, r.outcome.Layer, r.outcome.Preload = door, libraries.Layer, libraries.Preload
	return env.with(variables), nil
}

// supervise runs the command, says what is to be said, and ends the process. It
// returns only if the command could not be started.
func (r *runner) supervise(o *Options) error {
	start := time.Now()
	ended := make(chan struct{})
	go cleanReports(r.report.Name(), ended)
	end, err := supervise.Run(r.command)
	close(ended)
	if err != nil {
		_ = r.report.Close()
		_ = os.Remove(r.report.Name())
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			// There are no descriptors for us: then without us.
			r.command.Env = environ(r.command.Env).with([]Variable{{runlog.Variable, r.outer}})
			return supervise.Exec(r.command)
		}
		return err
	}
	r.tell(o, end, start)
	end.Exit()
	return nil
}

// tell says how the run ended. Whatever happens here, the process ends as the
// command did.
func (r *runner) tell(o *Options, end supervise.End, start time.Time) {
	took := time.Since(start)
	defer func() {
		if v := recover(); v != nil {
			say(fmt.Sprintf("kernstash: no report: %v\n", v))
		}
	}()
	out := &r.outcome
	out.Status, out.Millis = end.Status(), millis(took)
	if sig := end.Signal(); sig != 0 {
		out.Signal = sig.String()
	}
	s := takeReport(r.report, r.outer)
	kept := r.written(s)
	if kept != nil {
		explain(s, kept.Dir, start)
		out.Warning = warning(kept, s)
	}
	out.fill(s)
	if out.Note == "" {
		out.Note = out.why(r.target)
	}
	if r.json != nil {
		if err := writeJSON(r.json, out); err != nil {
			say(fmt.Sprintf("kernstash: %s\n", human.Printable(err.Error(), false)))
		}
	}
	if !o.Quiet && !r.warned {
		var b textBuffer
		out.write(&b, o.Report)
		say(string(b))
	}
	r.startWorker()
}

// written returns the settings by which programs were to be kept that were compiled, nil
// where none were.
func (r *runner) written(s *runlog.Summary) *settings.Settings {
	if s.Outcomes.Compiled == 0 {
		return nil
	}
	in, err := settings.Load(settings.Inputs{Environ: r.env, Lenient: true})
	if err != nil || in.Disable || !in.Persistent || in.Mode == settings.ModeReadOnly || in.Dir == "" {
		return nil
	}
	return in
}

// warning says why what was compiled may not be kept, "" if it may.
func warning(in *settings.Settings, s *runlog.Summary) string {
	if full(in.Dir) {
		return fmt.Sprintf("there is no room left for %s: what was compiled may not have been kept", in.Dir)
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

type textBuffer []byte

func (b *textBuffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

func writeJSON(f *os.File, v any) error {
	enc := json.NewEncoder(f)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
