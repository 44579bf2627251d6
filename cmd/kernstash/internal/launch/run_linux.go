package launch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/compile"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/worker"
)

// Supported reports whether commands are run on this system.
const Supported = true

// Run runs a command as the options say, where the launcher does not, and ends this process
// with the command's status. It returns only where it has not come to that.
//
// A process of Go has changed which signals are ignored, and which standard descriptors are
// closed, before it comes here, needs room for its threads, and does not die by a signal
// that is the command's.
func Run(o *Options, command []string) error {
	r, err := o.prepare(command)
	if err == nil {
		err = o.create()
	}
	if err != nil {
		return err
	}
	r.prefetch()
	r.enterFrameworks()
	for _, w := range r.warnings {
		say(os.Stderr, "kernstash: warning: "+w+"\n")
	}
	env := r.env.with(r.variables)
	path, args := r.starts(env, command)
	if o.silent() {
		r.trim()
		return execute(path, args, env)
	}
	fd, err := unix.MemfdCreate(runlog.MemoryName, unix.MFD_CLOEXEC) // what the processes under the run append to
	if err != nil && o.ExpectWarm {
		return failed(fmt.Errorf("there can be no report: %w", err))
	}
	if err != nil {
		say(os.Stderr, fmt.Sprintf("kernstash: warning: there will be no report: %s\n", human.Printable(err.Error(), false)))
		return execute(path, args, env)
	}
	report := os.NewFile(uintptr(fd), runlog.MemoryName)
	env = env.with([]Variable{{runlog.Variable, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd)}})
	begun := time.Now()
	end, err := wait(path, args, env, os.Stdout)
	if err != nil {
		return cannotStart(fmt.Errorf("%s: %w", command[0], err))
	}
	status := r.tell(report, os.Stderr, end, begun, time.Since(begun))
	os.Exit(cmp.Or(statusOf(end), status))
	return nil
}

// Watch runs a command as Run does, with more variables, its standard output going to out, and
// returns how it ended, and the warnings that Run begins with.
func Watch(o *Options, command, more []string, out *os.File) (*Outcome, []string, error) {
	r, err := o.prepare(command)
	if err != nil {
		return nil, nil, err
	}
	fd, err := unix.MemfdCreate(runlog.MemoryName, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, nil, fmt.Errorf("watch %s: %w", command[0], err)
	}
	report := os.NewFile(uintptr(fd), runlog.MemoryName)
	defer report.Close()
	env := r.env.with(r.variables).with([]Variable{{runlog.Variable, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd)}})
	path, args := r.starts(env, command)
	begun := time.Now()
	end, err := wait(path, args, append(env, more...), out)
	if err != nil {
		return nil, nil, cannotStart(fmt.Errorf("%s: %w", command[0], err))
	}
	r.note(report, end, begun, time.Since(begun))
	return &r.outcome, r.warnings, nil
}

// starts returns the program and the words that start a command. A compiler is run with the cache, as what is preloaded
// starts one (shim/launcher/src/compilers.c is the same).
func (r *runner) starts(env environ, command []string) (path string, args []string) {
	runs := env.get(worker.CommandVariable)
	if !filepath.IsAbs(runs) || unix.Access(runs, unix.X_OK) != nil || r.target.Script != "" || !slices.Contains(compile.Names(), filepath.Base(command[0])) ||
		!strings.Contains(command[0], "/") && !filepath.IsAbs(r.path) {
		return r.path, command
	}
	return runs, slices.Concat([]string{runs, "compile", "--"}, command)
}

// wait runs a command and waits for it as time(1) does: what a terminal sends is the
// command's alone, and what ends us is passed on.
func wait(path string, args, env []string, out *os.File) (syscall.WaitStatus, error) {
	c := make(chan os.Signal, 8)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig) // a child's action is the default again
		}
	}
	attr := &os.ProcAttr{Env: env, Files: []*os.File{os.Stdin, out, os.Stderr}}
	p, err := os.StartProcess(path, args, attr)
	if errors.Is(err, syscall.ENOEXEC) {
		p, err = os.StartProcess(shell, script(path, args), attr)
	}
	if err != nil {
		return 0, err
	}
	go func() {
		for sig := range c {
			if sig == syscall.SIGTERM || sig == syscall.SIGHUP {
				_ = p.Signal(sig)
			}
		}
	}()
	state, err := p.Wait()
	if err != nil {
		return 0, err
	}
	return state.Sys().(syscall.WaitStatus), nil
}

// execute replaces this process by a command. It returns only an error.
func execute(path string, args, env []string) error {
	err := syscall.Exec(path, args, env)
	if errors.Is(err, syscall.ENOEXEC) {
		err = syscall.Exec(shell, script(path, args), env)
	}
	return cannotStart(fmt.Errorf("%s: %w", args[0], err))
}

// shell runs what is executable and of no format, as execvp(3) has it.
const shell = "/bin/sh"

func script(path string, args []string) []string {
	return append([]string{shell, path}, args[1:]...)
}

// The words by which the launcher (shim/launcher) calls the whole command before and after
// it runs a command: each is followed by what stands behind the word run.
const (
	PrepareStep = "run-prepare"
	ReportStep  = "run-report" // and the status of wait(2), and the nanoseconds that it took
)

// Step does what the launcher asks for. ours is false for arguments that are none of its.
func Step(args []string) (status int, ours bool) {
	switch {
	case len(args) == 0:
	case args[0] == PrepareStep:
		return prepareStep(args[1:]), true
	case args[0] == ReportStep:
		return reportStep(args[1:]), true
	case args[0] == prefetchWord && len(args) == 2:
		return prefetchStep(args[1]), true
	}
	return 0, false
}

// parse returns what the arguments behind the word run mean, and where the command begins.
func parse(args []string) (o *Options, begins int, err error) {
	o = new(Options)
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.SetInterspersed(false)
	o.Bind(fs)
	o.BindSettings(fs)
	o.BindRun(fs)
	err = cmp.Or(fs.Parse(args), CheckFlags(fs))
	if err == nil && fs.NArg() == 0 {
		err = cli.Usagef("run: which command?")
	}
	return o, len(args) - fs.NArg(), err
}

// prefetch has what the application uses fetched while the command runs. Whatever is wrong with that is the
// command's no matter.
func (r *runner) prefetch() {
	name := r.options.Prefetch
	if name == "" || r.settings.Disable || r.settings.Mode == settings.ModeRefresh {
		return
	}
	if name == OfCommand {
		name = r.recordedName()
	}
	if err := startPrefetch(name, r.settings, r.env); err != nil {
		r.warn(fmt.Errorf("nothing is prefetched: %w", err))
	}
}

// recordedName returns what records call the program that the command becomes.
func (r *runner) recordedName() string {
	file := r.path
	if r.target.Script == "" { // the kernel tells a program's own file; an interpreter is told the name of a script
		if real, err := filepath.EvalSymlinks(file); err == nil {
			file = real
		}
	}
	return records.Name(file, r.outcome.Command)
}

// prepareStep writes what the launcher is to do, each text with a NUL behind it: where the
// command begins, with a letter where nothing is to be said in the end, or the report decides how
// the run ends; then warnings, and
// variables. It does nothing where the whole command has to say what is wrong.
func prepareStep(args []string) int {
	o, begins, err := parse(args)
	if err != nil {
		return 1
	}
	r, err := o.prepare(args[begins:])
	if err != nil || o.create() != nil {
		return 1
	}
	r.prefetch()
	r.enterFrameworks()
	how := ""
	switch {
	case o.ExpectWarm:
		how = "s" // the status of run-report counts
	case o.silent():
		how = "q" // nothing is to be said in the end
		r.trim()
	}
	const before = 2 // our name, and the word
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d%s\x00", before+begins, how)
	for _, w := range r.warnings {
		fmt.Fprintf(&b, "warning: %s\x00", w)
	}
	for _, v := range r.variables {
		fmt.Fprintf(&b, "%s=%s\x00", v.Name, v.Value)
	}
	if _, err := os.Stdout.Write(b.Bytes()); err != nil {
		return 1
	}
	return 0
}

// reportStep says how a run has ended. Standard input is what the processes have reported;
// standard output is the launcher's standard error.
func reportStep(args []string) int {
	if len(args) < 2 {
		return 1
	}
	status, err := strconv.Atoi(args[0])
	took, tookErr := strconv.ParseInt(args[1], 10, 64)
	args = args[2:]
	o, begins, parseErr := parse(args)
	if cmp.Or(err, tookErr, parseErr) != nil {
		return 1
	}
	r, err := o.prepare(args[begins:])
	if err != nil {
		return 1
	}
	r.ended = true
	r.enterFrameworks()
	length := time.Duration(took)
	return r.tell(os.Stdin, os.Stdout, syscall.WaitStatus(status), begunAt(os.Stdin, length), length)
}

// begunAt returns when a run that has just ended began: the memory of its report was made just before.
func begunAt(report *os.File, took time.Duration) time.Time {
	begun := time.Now().Add(-took)
	var st unix.Statx_t
	err := unix.Statx(int(report.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st)
	at := time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
	if err == nil && st.Mask&unix.STATX_BTIME != 0 && begun.Sub(at).Abs() < time.Minute {
		return at
	}
	return begun // and later by what it took to ask
}

// setID reports whether a file runs with rights that its user has not: the kernel
// then has the dynamic linker ignore LD_PRELOAD, and the layer stays out.
func setID(file string) bool {
	if info, err := os.Stat(file); err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		return true
	}
	n, err := unix.Getxattr(file, "security.capability", nil)
	return err == nil && n > 0
}

// leastStack is what the dynamic linker may need for what is preloaded, and the program before its main.
const leastStack = 64 << 10

// hasStack reports whether the limit of the stack leaves room for what is preloaded.
func hasStack() bool {
	var limit unix.Rlimit
	return unix.Getrlimit(unix.RLIMIT_STACK, &limit) == nil && limit.Cur >= leastStack
}
