//go:build amd64 || arm64

package supervise

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// End is how a command ended.
type End struct{ ws syscall.WaitStatus }

// Status is the exit status, as shells give it: 128 and the signal's number for
// a command that died by one.
func (e End) Status() int {
	if e.ws.Signaled() {
		return 128 + int(e.ws.Signal())
	}
	return e.ws.ExitStatus()
}

// Signal is what the command died by, 0 if it did not.
func (e End) Signal() syscall.Signal {
	if e.ws.Signaled() {
		return e.ws.Signal()
	}
	return 0
}

// Exit ends this process as the command ended, by the same signal if it was one.
// It does not return.
func (e End) Exit() {
	if sig := e.Signal(); sig != 0 {
		// The command has left a core, if anybody wants one.
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		_ = setDefault(sig)
		_ = unblock(sig)
		_ = unix.Kill(os.Getpid(), sig)
		time.Sleep(100 * time.Millisecond) // process 1 dies by no signal
	}
	os.Exit(e.Status())
}
