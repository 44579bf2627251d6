//go:build !linux

package launch

import (
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
)

// Supported reports whether commands are run on this system.
const Supported = false

// Run runs a command on other systems.
func Run(_ *Options, command []string) (status int, err error) {
	if len(command) == 0 {
		return statusUsage, cli.Usagef("run: which command?")
	}
	return statusFailed, fmt.Errorf("run: %w", errors.ErrUnsupported)
}

// Step does what the launcher asks for, which is not on this system.
func Step([]string) (status int, ours bool) { return 0, false }
