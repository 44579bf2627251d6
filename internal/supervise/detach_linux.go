//go:build amd64 || arm64

package supervise

import "syscall"

// Detach starts a program in a session of its own, in /, with nothing to read and
// nowhere to write, and waits for nothing of it. It is for a process that is about to
// end: nobody reaps the program.
func Detach(c Command) error {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return &StartError{c.Args[0], err}
	}
	defer syscall.Close(null)
	fd := uintptr(null)
	_, err = syscall.ForkExec(c.Path, c.Args, &syscall.ProcAttr{
		Dir: "/", Env: c.Env, Files: []uintptr{fd, fd, fd}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return &StartError{c.Args[0], err}
	}
	return nil
}
