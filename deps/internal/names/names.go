// Package names has the names that make a build depend on more than its source, and those
// that compilers define.
package names

import (
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps/internal/lexer"
)

// PathNames are what puts paths into what is built. assert is a macro of the
// compiler's own in NVRTC; elsewhere it comes from a header that names __FILE__.
// In C++ a function's full name may have the place of a lambda in it.
var PathNames = strings.Fields(namesOfPaths)

const namesOfPaths = "__FILE__ __BASE_FILE__ __FILE_NAME__ __builtin_FILE __builtin_FILE_NAME" +
	" __builtin_source_location source_location assert" +
	" __PRETTY_FUNCTION__ __FUNCSIG__ __builtin_FUNCSIG"

// PathParts is how many of them are made of the name of a file.
const PathParts = 5

// IsPathPiece says whether name is a good part of one that puts paths into
// what is built.
func IsPathPiece(name string) bool {
	return slices.ContainsFunc(PathNames[:PathParts], func(n string) bool {
		return len(name) > 2 && len(name) < len(n) && strings.Contains(n, name)
	})
}

// Covered reports whether a name is a sequence of two to so many pieces, at most.
func Covered(name string, most int, isPiece func(string) bool) bool {
	need := make([]int, len(name)+1) // pieces for the name up to here; 0: impossible
	for end := 1; end <= len(name); end++ {
		for start := range end {
			piece := name[start:end]
			if start > 0 && need[start] == 0 || len(piece) == len(name) || !isPiece(piece) {
				continue
			}
			if n := need[start] + 1; need[end] == 0 || n < need[end] {
				need[end] = n
			}
		}
	}
	n := need[len(name)]
	return n > 0 && n <= most
}

// Pasted reports whether one of some names is a sequence of two to FewPieces names that are
// met, or numbers.
func Pasted(some []string, met map[string]bool) bool {
	isPiece := func(piece string) bool { return met[piece] || strings.Trim(piece, "0123456789") == "" }
	return slices.ContainsFunc(some, func(name string) bool { return Covered(name, FewPieces, isPiece) })
}

// Forbidden are the names that a source must not make by pasting tokens.
var Forbidden = strings.Fields(ForbiddenNames)

// ForbiddenNames are the same as one text.
const ForbiddenNames = "__DATE__ __TIME__ __TIMESTAMP__ __has_include __has_include_next __has_include__" +
	" __has_include_next__ __has_embed"

// Assemblers introduce inline assembly.
var Assemblers = strings.Fields(assemblerNames)

const assemblerNames = "asm __asm __asm__"

// longest is the length of the longest name that counts.
const longest = len("__builtin_source_location")

// Counting are all names that count, one after the other, with a character between
// them that no identifier has in it.
const Counting = " " + ForbiddenNames + " " + assemblerNames + " " + namesOfPaths + " "

// pairs holds which two characters follow one another in them, so that the
// many identifiers that are in none cost one look.
var pairs lexer.Pairs

func init() {
	for i := range len(Counting) - 1 {
		pairs.Add(Counting[i], Counting[i+1])
	}
}

// Counts says whether an identifier is a part of a name that counts.
func Counts(name []byte) bool {
	return MayCount(name) && strings.Contains(Counting, string(name))
}

// MayCount is Counts that may be wrong of a name that does not count.
func MayCount(name []byte) bool {
	if len(name) > longest {
		return false
	}
	for i := 1; i < len(name); i++ {
		if !pairs.Has(name[i-1], name[i]) {
			return false
		}
	}
	return true
}

// AnyPieces and FewPieces are of how many pieces a name may be put together.
// The names in a library's headers add up to anything if they are taken letter
// by letter.
const (
	AnyPieces = longest
	FewPieces = 4
)

// Telling says whether a piece is good for little but a forbidden name, so that
// it counts even if the other pieces come from elsewhere, as from options.
func Telling(piece string) bool {
	for _, name := range Forbidden {
		if len(piece) < len(name) && (len(piece) >= 2 && strings.HasPrefix(name, piece) ||
			len(piece) >= 3 && strings.HasSuffix(piece, "__") && strings.HasSuffix(name, piece)) {
			return true
		}
	}
	return false
}

// HasAnyPrefix reports whether a word begins with one of prefixes.
func HasAnyPrefix(word string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(word, p) })
}
