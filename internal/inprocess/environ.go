package inprocess

import (
	"os"
	"strings"
)

// StartEnvironment returns the environment that the process was started with, as far as it is
// known.
func StartEnvironment() []string {
	b, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		return os.Environ() // as of when our library was loaded
	}
	return strings.FieldsFunc(string(b), func(r rune) bool { return r == 0 })
}
