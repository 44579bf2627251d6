//go:build !linux

package launch

import (
	"errors"
	"fmt"
)

// Supported reports whether commands are run on this system.
const Supported = false

// Run runs a command on other systems.
func Run(_ *Options, command []string) (status int, err error) {
	if len(command) == 0 {
		return statusUsage, usagef("run: which command?")
	}
	return statusFailed, fmt.Errorf("run: %w", errors.ErrUnsupported)
}

func detach(string, []string, []string) error { return errors.ErrUnsupported }

// Step does what the launcher asks for, which is not on this system.
func Step([]string) (status int, ours bool) { return 0, false }
