package builder

import (
	"errors"
	"regexp"
	"strings"
)

// piece is what a text begins with: in single quotes, in double quotes, behind a backslash,
// plain, or blanks.
var piece = regexp.MustCompile(`(?s)^(?:'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s\v'"\\]+)|[\s\v]+)`)

// escaped is what a backslash in double quotes stands before.
var escaped = regexp.MustCompile("\\\\([\\\\\"$`])")

// splitWords splits a text into words as a POSIX shell does, without expanding
// anything: at blanks that are neither quoted nor behind a backslash.
func splitWords(text string) (words []string, err error) {
	for within := false; text != ""; {
		m := piece.FindStringSubmatch(text)
		if m == nil {
			return nil, errors.New("a quote is not closed, or nothing is behind a backslash")
		}
		text = text[len(m[0]):]
		if strings.Trim(m[0], " \t\n\r\v\f") == "" {
			within = false
			continue
		}
		if !within {
			words, within = append(words, ""), true
		}
		words[len(words)-1] += m[1] + escaped.ReplaceAllString(m[2], "$1") + m[3] + m[4]
	}
	return words, nil
}
