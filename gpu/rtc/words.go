package rtc

import (
	"fmt"
	"strings"
)

// The core's options are words of one string, a compiler's here are strings of
// any kind. A word is an option with a backslash before each character that means
// something between words; so most options are their own words.

const quoted = "\\\"' \t\n\r\v\f"

// word returns the word of an option.
func word(option string) string {
	if option == "" {
		return `""`
	}
	if !strings.ContainsAny(option, quoted) {
		return option
	}
	var b strings.Builder
	for i := range len(option) {
		if strings.IndexByte(quoted, option[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(option[i])
	}
	return b.String()
}

// option is word the other way round.
func option(word string) string {
	if word == `""` {
		return ""
	}
	if !strings.Contains(word, `\`) {
		return word
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

// escape returns a text as a part of a word that no rule about options finds
// anything in: blanks, quotes and what introduces a file are written as %20.
func escape(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("%\\\"'@#", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// unescape is escape the other way round; false: escape made no such thing.
func unescape(text string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			b.WriteByte(text[i])
			continue
		}
		var c byte
		if i+2 >= len(text) {
			return "", false
		}
		if _, err := fmt.Sscanf(text[i+1:i+3], "%02X", &c); err != nil {
			return "", false
		}
		b.WriteByte(c)
		i += 2
	}
	return b.String(), true
}
