package names

import (
	"slices"
	"strings"
)

// HasAnyPrefix reports whether a word begins with one of prefixes.
func HasAnyPrefix(word string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(word, p) })
}
