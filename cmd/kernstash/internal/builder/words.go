package builder

import (
	"errors"
	"strings"
)

// SplitWords splits a text into words as a POSIX shell does, without expanding
// anything: at blanks that are neither quoted nor behind a backslash.
func SplitWords(text string) (words []string, err error) {
	var word strings.Builder
	in, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == '\'' && c != quote, quote == '"' && c != quote && c != '\\':
			word.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && i+1 == len(text):
			return nil, errors.New("it ends with a backslash")
		case c == '\\':
			i++
			if quote == '"' && !strings.ContainsRune("\\\"$`", rune(text[i])) {
				word.WriteByte(c)
			}
			word.WriteByte(text[i])
			in = true
		case c == '"' || c == '\'':
			quote, in = c, true
		case strings.IndexByte(" \t\n\r\v\f", c) >= 0:
			if in {
				words = append(words, word.String())
				word.Reset()
			}
			in = false
		default:
			word.WriteByte(c)
			in = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}
