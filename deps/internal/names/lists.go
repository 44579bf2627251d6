package names

import (
	"slices"
	"strings"
	"sync"
)

// List returns what returns the words of a text, which are split at its first call: a process that knows its
// programs needs few of them.
func List(words string) func() []string {
	return sync.OnceValue(func() []string { return strings.Fields(words) })
}

// HasAnyPrefix reports whether a word begins with one of prefixes.
func HasAnyPrefix(word string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(word, p) })
}
