package worker

import (
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// alone gives a builder a group of its own, which ends as one.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
}

// detach gives a worker a session of its own.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// end ends what a builder left of its group.
func end(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	}
}

const (
	schedIdle     = 5
	ioprioIdle    = 3 << 13 // IOPRIO_CLASS_IDLE
	ioprioProcess = 1       // IOPRIO_WHO_PROCESS
	leastNice     = 19
)

// start starts a builder, at the lowest priority if idle: for processor and disk, it
// goes when nobody else wants to. A process has the priorities of the thread that
// starts it, so that is one which nobody else uses, and which ends.
func start(cmd *exec.Cmd, idle bool) error {
	if !idle {
		return cmd.Start()
	}
	started := make(chan error, 1)
	go func() {
		yield()
		started <- cmd.Start()
	}()
	return <-started
}

// yield gives the goroutine a thread of its own, at the lowest priority, which ends
// with the goroutine.
func yield() {
	runtime.LockOSThread() // never unlocked
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, leastNice)
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: schedIdle, Nice: leastNice}, 0)
	_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, ioprioProcess, 0, ioprioIdle)
}
