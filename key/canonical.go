package key

import (
	"slices"
	"strings"
)

// canonical returns words of compile options of OpenCL for a digest: what a compiler cannot
// tell apart is one request. Definitions of macros come first, in one spelling, by name;
// those of one name, and all other words, keep their order. Where a word is not known to
// stand for itself, words are returned as they are.
func canonical(words []string) []string {
	if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-D") || strings.HasPrefix(w, "-U") }) {
		return words
	}
	var room [16]macro
	others, macros := make([]string, 0, len(words)), room[:0]
	for i := 0; i < len(words); i++ {
		w := words[i]
		if strings.ContainsAny(w, "\"'\\") || strings.ContainsFunc(w, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
			return words // drivers split it in several ways
		}
		kind := w[:min(len(w), 2)]
		switch {
		case kind == "-D" || kind == "-U":
			text := w[2:]
			if text == "" {
				if i++; i == len(words) {
					return words
				}
				text = words[i]
			}
			m, ok := newMacro(kind, text)
			if !ok {
				return words
			}
			macros = append(macros, m)
		case standsAlone(w):
			others = append(others, w)
		default:
			return words
		}
	}
	slices.SortStableFunc(macros, func(a, b macro) int { return strings.Compare(a.name, b.name) })
	all := make([]string, 0, len(words))
	for _, m := range macros {
		all = append(all, m.word)
	}
	return append(all, others...)
}

// macro is a definition, or the opposite, in one word.
type macro struct{ name, word string }

func newMacro(kind, text string) (macro, bool) {
	end := 0
	for end < len(text) {
		c := text[end]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (end == 0 || c < '0' || c > '9') {
			break
		}
		end++
	}
	if end == 0 || end < len(text) && (kind == "-U" || text[end] != '=' && text[end] != '(') ||
		strings.ContainsAny(text, "\"'\\") || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return macro{}, false
	}
	return macro{text[:end], kind + text}, true
}

// standsAlone reports whether a word is an option, and takes in no other. Debug options are
// not among them: what they record nobody has looked at.
func standsAlone(w string) bool {
	return w == "-w" || strings.HasPrefix(w, "-I") && len(w) > 2 ||
		slices.ContainsFunc([]string{"-cl-", "-W", "-O", "-std=", "-ffast-math", "-ffp-contract=", "-fno-"},
			func(start string) bool { return strings.HasPrefix(w, start) }) && !strings.Contains(w, ",")
}
