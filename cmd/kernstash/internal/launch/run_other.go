//go:build !linux

package launch

import "errors"

// Supported reports whether commands are run on this system.
const Supported = false

// Run runs a command on other systems.
func Run(*Options, []string) error { return failed(errors.ErrUnsupported) }

// Step does what the launcher asks for, which is not on this system.
func Step([]string) (status int, ours bool) { return 0, false }

// setID is told on Linux alone.
func setID(string) bool { return false }
