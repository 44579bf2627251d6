package rtc

import "strings"

// The core's options are words of one string, a compiler's here are strings of
// any kind. A word is an option with a backslash before each character that means
// something between words; so most options are their own words.

const quoted = "\\\"' \t\n\r\v\f"

// word returns the word of an option.
func word(option string) string {
	if option == "" {
		return `""`
	}
	if strings.ContainsAny(option, quoted) {
		for i := range len(quoted) { // the backslash first
			c := quoted[i : i+1]
			option = strings.ReplaceAll(option, c, `\`+c)
		}
	}
	return option
}

// option is word the other way round.
func option(word string) string {
	if word == `""` {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		if word[i] == '\\' && i+1 < len(word) {
			i++
		}
		b.WriteByte(word[i])
	}
	return b.String()
}
