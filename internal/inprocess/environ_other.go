//go:build !linux

package inprocess

import "os"

// StartEnvironment returns the environment that the process was started with, as far as
// it is known.
func StartEnvironment() []string { return os.Environ() }
