package launch

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/runlog"
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
	for _, w := range r.warnings {
		say(os.Stderr, "kernstash: warning: "+w+"\n")
	}
	env := r.env.with(r.variables)
	if o.Quiet && o.File == "" {
		return execute(r.path, command, env)
	}
	fd, err := unix.MemfdCreate(runlog.MemoryName, unix.MFD_CLOEXEC) // what the processes under the run append to
	if err != nil {
		say(os.Stderr, fmt.Sprintf("kernstash: warning: there will be no report: %s\n", human.Printable(err.Error(), false)))
		return execute(r.path, command, env)
	}
	report := os.NewFile(uintptr(fd), runlog.MemoryName)
	env = env.with([]Variable{{runlog.Variable, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd)}})
	begun := time.Now()
	end, err := wait(r.path, command, env)
	if err != nil {
		return cannotStart(fmt.Errorf("%s: %w", command[0], err))
	}
	r.tell(report, os.Stderr, end, time.Since(begun))
	os.Exit(statusOf(end))
	return nil
}

// wait runs a command and waits for it as time(1) does: what a terminal sends is the
// command's alone, and what ends us is passed on.
func wait(path string, args, env []string) (syscall.WaitStatus, error) {
	c := make(chan os.Signal, 8)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig) // a child's action is the default again
		}
	}
	attr := &os.ProcAttr{Env: env, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}}
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
