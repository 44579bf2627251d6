//go:build linux

package stage

import (
	"regexp"
	"strings"
)

// What differs between two runs without the layer: sizes and digests of PoCL's
// binaries, names of temporary files, and the number of a compilation in its
// process, which Intel's compiler puts before the line of a message.
var noise = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`~[0-9a-f]+`), "~"},
	{regexp.MustCompile(`/[^ ":\n]*/tempfile[^ ":\n]*`), "TEMPFILE"},
	{regexp.MustCompile(`(CL_PROGRAM_BUILD_LOG: 0) size \d+ (short \S+) value 0 \d+ "\d+:(\d+:\d+: )`), `$1 $2 "$3`},
}

// Normal returns what a program wrote without what differs between any two runs.
func Normal(out string) string {
	for _, n := range noise {
		out = n.pattern.ReplaceAllString(out, n.text)
	}
	return out
}

// Tail returns the end of what a program wrote, for messages.
func Tail(s string) string { return s[max(0, len(s)-2000):] }

// Count counts the lines of a log that begin so.
func Count(log, prefix string) (n int) {
	for line := range strings.Lines(log) {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}
