package inprocess

import (
	"bytes"
	"os"
)

// StartEnvironment returns the environment that the process was started with, as far as it is
// known.
func StartEnvironment() []string {
	b, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		return os.Environ() // as of when our library was loaded
	}
	all := []string{}
	for v := range bytes.SplitSeq(b, []byte{0}) {
		if len(v) > 0 {
			all = append(all, string(v))
		}
	}
	return all
}
