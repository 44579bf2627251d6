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
	if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-D") || strings.HasPrefix(w, "-U") }) ||
		slices.ContainsFunc(words, isSplit) {
		return words
	}
	var others []string
	var macros []macro
	for i := 0; i < len(words); i++ {
		w := words[i]
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
	var all []string
	for _, m := range macros {
		all = append(all, m.word)
	}
	return append(all, others...)
}

// isSplit reports whether drivers split a word in several ways.
func isSplit(w string) bool {
	return strings.ContainsAny(w, "\"'\\") || strings.ContainsFunc(w, func(c rune) bool { return c <= ' ' || c == 0x7f })
}

// macro is a definition, or the opposite, in one word.
type macro struct{ name, word string }

func newMacro(kind, text string) (macro, bool) {
	const digits, letters = "0123456789", "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	rest := strings.TrimLeft(text, letters+digits)
	name := text[:len(text)-len(rest)]
	if name == "" || strings.Contains(digits, name[:1]) || rest != "" && (kind == "-U" || rest[0] != '=' && rest[0] != '(') {
		return macro{}, false
	}
	return macro{name, kind + text}, true
}

// standsAlone reports whether a word is an option, and takes in no other. Debug options are
// not among them: what they record nobody has looked at.
func standsAlone(w string) bool {
	return w == "-w" || strings.HasPrefix(w, "-I") && len(w) > 2 ||
		slices.ContainsFunc([]string{"-cl-", "-W", "-O", "-std=", "-ffast-math", "-ffp-contract=", "-fno-"},
			func(start string) bool { return strings.HasPrefix(w, start) }) && !strings.Contains(w, ",")
}
