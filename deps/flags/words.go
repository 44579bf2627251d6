package flags

import (
	"strings"
)

const quotes = "\"'\\"

// Unquoted returns a word without quotes and backslashes.
func Unquoted(w string) string {
	if !strings.ContainsAny(w, quotes) {
		return w
	}
	b := make([]byte, 0, len(w))
	for i := range len(w) {
		if strings.IndexByte(quotes, w[i]) < 0 {
			b = append(b, w[i])
		}
	}
	return string(b)
}

// settled says whether all drivers take w for one word, and none of them takes
// in what follows: they split at spaces, some at other white space, and quotes
// and backslashes count for some.
func settled(w string) bool {
	if !strings.ContainsAny(w, quotes) {
		return !strings.ContainsFunc(w, func(c rune) bool { return c <= ' ' })
	}
	if strings.HasSuffix(w, `\`) || strings.ContainsFunc(w, func(c rune) bool { return c <= ' ' }) {
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
