//go:build !linux || !(amd64 || arm64)

package supervise

import "syscall"

// Supported says whether commands are supervised on this system.
const Supported = false

// Run runs a command and returns how it ended.
func Run(Command) (End, error) { return End{}, ErrUnsupported }

// Exec replaces this process by a command.
func Exec(Command) error { return ErrUnsupported }

// Detach starts a program and waits for nothing of it.
func Detach(Command) error { return ErrUnsupported }

// End is how a command ended.
type End struct{}

// Status is the exit status, as shells give it.
func (End) Status() int { return 1 }

// Signal is what the command died by, 0 if it did not.
func (End) Signal() syscall.Signal { return 0 }

// Exit ends this process.
func (End) Exit() {}
