// Package marked replaces the parts of a document that are measured.
//
// A part stands between a line `<!-- begin NAME -->` and a line
// `<!-- end NAME -->`. What people wrote around it stays.
package marked

import (
	"fmt"
	"os"
	"strings"
)

// Replace returns text with the part of a name replaced.
func Replace(text, name, part string) (string, error) {
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->"
	head, rest, ok := strings.Cut(text, begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", fmt.Errorf("no part %q: want a line %q and a line %q", name, strings.TrimSpace(begin), end)
	}
	return head + begin + strings.TrimRight(part, "\n") + "\n" + end + tail, nil
}

// File replaces parts of a file, by their names.
func File(path string, parts map[string]string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(b)
	for name, part := range parts {
		if text, err = Replace(text, name, part); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
