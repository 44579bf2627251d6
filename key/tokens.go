package key

import "strings"

// Tokens splits a string of build options into its words.
//
// Only what no compiler tells apart is made equal: runs of spaces between
// words, and spaces at the ends. Drivers disagree on everything else (some
// split at spaces alone, some know quotes), so quotes and backslashes stay in
// the word as they are and protect the spaces in them, and other white space
// is not a separator. Where two drivers would split differently the words keep
// the difference: the price is a miss, never a wrong binary.
func Tokens(options string) []string {
	var words []string
	for rest := strings.TrimLeft(options, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		n := wordLen(rest)
		words = append(words, rest[:n])
		rest = rest[n:]
	}
	return words
}

// wordLen returns the length of the word that s starts with.
func wordLen(s string) int {
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++ // whatever follows belongs to the word
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ' ':
			return i
		}
	}
	return len(s)
}
