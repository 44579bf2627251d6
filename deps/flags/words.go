package flags

import "strings"

const quotes = "\"'\\"

var unquoter = strings.NewReplacer(`"`, "", `'`, "", `\`, "")

// Unquoted returns a word without quotes and backslashes.
func Unquoted(w string) string { return unquoter.Replace(w) }

func isSpace(c rune) bool { return c <= ' ' }

// settled says whether all drivers take w for one word, and none of them takes
// in what follows: they split at spaces, some at other white space, and quotes
// and backslashes count for some.
func settled(w string) bool {
	if strings.HasSuffix(w, `\`) || strings.ContainsFunc(w, isSpace) {
		return false
	}
	return closed(w, `"`, false) && closed(w, `"`, true) && closed(w, `"'`, false) && closed(w, `"'`, true)
}

// closed says whether w ends outside of its quotes.
func closed(w, quotes string, escapes bool) bool {
	var open byte
	for i := 0; i < len(w); i++ {
		switch c := w[i]; {
		case escapes && c == '\\':
			i++
		case open != 0 && c == open:
			open = 0
		case open == 0 && strings.IndexByte(quotes, c) >= 0:
			open = c
		}
	}
	return open == 0
}
