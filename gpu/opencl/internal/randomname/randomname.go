// Package randomname recognizes the constant of a random name that pyopencl ends sources with,
// and reports whether a source means the same with another name.
package randomname

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// pyopencl ends each source that its own cache does not have with a constant of a random
// name, so that no driver finds the source in a cache: cache.py, from 2011.1 to 2026.1.
// The source before it is the same at each start.
const (
	stem      = "pyopencl_defeat_cache_"
	head      = "\n\n__constant int " + stem
	tail      = " = 0;"
	hexDigits = 32
)

// Cut returns code without the constant, and the constant's name; "" where code does
// not end with one.
func Cut(code []byte) (rest []byte, name string) {
	at := len(code) - len(head) - hexDigits - len(tail)
	if at < 0 || !bytes.HasPrefix(code[at:], []byte(head)) || !bytes.HasSuffix(code, []byte(tail)) {
		return code, ""
	}
	digits := code[at+len(head) : len(code)-len(tail)]
	if len(bytes.Trim(digits, "0123456789abcdef")) > 0 {
		return code, ""
	}
	return code[:at], stem + string(digits)
}

// IsIn reports whether a build log tells of a constant of a random name: it is of no use to a
// source with another one.
func IsIn(log string) bool { return strings.Contains(log, stem) }

// fixed is the name that stands for all random ones.
var fixed = stem + strings.Repeat("0", hexDigits)

// Fix returns a source with the constant of the fixed name behind it.
func Fix(rest []byte) []byte {
	return slices.Concat(rest, []byte(strings.TrimSuffix(head, stem)+fixed+tail))
}

// HasOption reports whether a word of a variable's value looks like an option: - and another - or a letter.
// No regular expressions here: what they need takes 0.1 ms of each process in which the library is loaded.
func HasOption(value string) bool {
	words := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n\v\f\r\"'", r) })
	return slices.ContainsFunc(words, func(w string) bool {
		return len(w) > 1 && w[0] == '-' && (w[1] == '-' || 'a' <= w[1]|0x20 && w[1]|0x20 <= 'z')
	})
}

// CheckOptions returns an error where the words of options may have a compiler tell of what is
// not used, or keep it: only those that are known not to pass.
func CheckOptions(words []string) error {
	before := ""
	for _, w := range words {
		switch {
		case before == "-D" || before == "-I":
			before = ""
			continue
		case strings.HasPrefix(w, "-D"), strings.HasPrefix(w, "-I"), w == "-w", w == "-Werror":
		case strings.HasPrefix(w, "-cl-") && w != "-cl-opt-disable" && !strings.Contains(w, "++"):
		default:
			return fmt.Errorf("and the option %s is given", w)
		}
		before = w
	}
	return nil
}

var errMeant = errors.New("which the source, its options or its header files may mean")

// Checker returns what returns an error where a source with options and the contents of its header
// files may mean a name, or the fixed one. Whatever a compiler makes of them, be it of lines that a
// backslash joins or of words that a macro does, they must have words for that which are the name one
// after the other.
func Checker(name string, source, options []byte) (check func(files [][]byte) error) {
	note := func(parts map[string]bool, text []byte) {
		for word := range bytes.FieldsFuncSeq(text, func(r rune) bool { return r > 127 || !isWord(byte(r)) }) {
			if w := string(word); strings.Contains(name, w) || strings.Contains(fixed, w) {
				parts[w] = true
			}
		}
	}
	own := make(map[string]bool) // words that are a part of a name
	note(own, source)
	note(own, options)
	return func(files [][]byte) error {
		parts := maps.Clone(own)
		for _, f := range files {
			note(parts, f)
		}
		if madeOf(name, parts) || madeOf(fixed, parts) {
			return errMeant
		}
		return nil
	}
}

// madeOf reports whether name is a sequence of words.
func madeOf(name string, words map[string]bool) bool {
	made := make([]bool, len(name)+1) // up to here
	made[0] = true
	for end := 1; end <= len(name); end++ {
		for start := range end {
			made[end] = made[end] || made[start] && words[name[start:end]]
		}
	}
	return made[len(name)]
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
