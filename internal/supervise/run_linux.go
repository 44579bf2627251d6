//go:build amd64 || arm64

package supervise

import (
	"errors"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Supported says whether commands are supervised on this system.
const Supported = true

// Run runs a command until it ends, and returns how. The error is a
// *StartError. It is for the main goroutine of a process that does nothing else
// any more: it takes all signals over, and reaps every child.
func Run(c Command) (End, error) {
	// PDEATHSIG is sent when the thread ends that started the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	inheritIgnored(false)
	s, err := watch()
	pid, pidfd := 0, -1
	if err == nil {
		pid, pidfd, err = c.start()
	}
	if err != nil {
		return End{}, &StartError{c.Args[0], err}
	}
	go s.forward(pid, pidfd)
	return End{s.wait(pid)}, nil
}

// Exec replaces this process by a command. It returns only a *StartError.
func Exec(c Command) error {
	inheritIgnored(true)
	closeClosed()
	err := syscall.Exec(c.Path, c.Args, c.Env)
	if errors.Is(err, syscall.ENOEXEC) {
		err = syscall.Exec(shell, c.script(), c.Env)
	}
	return &StartError{c.Args[0], err}
}

// shell runs what is executable and of no format, as execvp(3) has it.
const shell = "/bin/sh"

func (c Command) script() []string {
	return append([]string{shell, c.Path}, c.Args[1:]...)
}

// start starts the command. If somebody kills us, who could not pass that on,
// the kernel does.
func (c Command) start() (pid, pidfd int, err error) {
	pidfd = -1
	attr := &syscall.ProcAttr{
		Env:   c.Env,
		Files: files(),
		Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, PidFD: &pidfd},
	}
	pid, err = syscall.ForkExec(c.Path, c.Args, attr)
	if errors.Is(err, syscall.EINVAL) { // not every kernel, nor what plays one, has descriptors of processes
		attr.Sys.PidFD, pidfd = nil, -1
		pid, err = syscall.ForkExec(c.Path, c.Args, attr)
	}
	if errors.Is(err, syscall.ENOEXEC) {
		pid, err = syscall.ForkExec(shell, c.script(), attr)
	}
	return pid, pidfd, err
}

// files are the standard descriptors. All others that are inheritable the child
// has anyway. The Go runtime opened those that were closed.
func files() []uintptr {
	f := []uintptr{0, 1, 2}
	for i := range f {
		if startClosed&(1<<i) != 0 {
			f[i] = ^uintptr(0)
		}
	}
	return f
}

func closeClosed() {
	for fd := range 3 {
		if startClosed&(1<<fd) != 0 {
			_ = syscall.Close(fd)
		}
	}
}

// wait returns how the child ended. While it is stopped, we are.
func (s *signals) wait(child int) syscall.WaitStatus {
	for {
		var ws syscall.WaitStatus
		// Of all children: as process 1 of a container we are everybody's parent.
		pid, err := syscall.Wait4(-1, &ws, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0xff << 8 // nobody tells us
		case pid != child:
		case ws.Stopped():
			s.stop(child, ws.StopSignal())
		default:
			return ws
		}
	}
}

// stop stops this process as its child was, until somebody continues it.
func (s *signals) stop(child int, sig syscall.Signal) {
	if state := stateOf(child); state != 'T' && state != 0 { // 0: there is no /proc
		return // continued meanwhile
	}
	switch sig {
	case syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU:
		// The kernel lets these stop nobody whom no shell would continue.
		_ = setDefault(sig)
		// To this thread, which has stopped before the call returns: another one might take
		// what is sent to the process after the handler is back.
		_ = unix.Tgkill(os.Getpid(), unix.Gettid(), sig)
		_ = s.install(sig)
	default:
		_ = unix.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}
