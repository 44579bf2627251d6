//go:build !linux

package launch

import (
	"errors"
	"os"
)

// Supported reports whether commands are run on this system.
const Supported = false

// Run runs a command on other systems.
func Run(*Options, []string) error { return failed(errors.ErrUnsupported) }

// Watch runs a command on other systems.
func Watch(*Options, []string, []string, *os.File) (*Outcome, []string, error) {
	return nil, nil, failed(errors.ErrUnsupported)
}

// Step does what the launcher asks for, which is not on this system.
func Step([]string) (status int, ours bool) { return 0, false }

// setID is told on Linux alone.
func setID(string) bool { return false }

func hasStack() bool { return true }
