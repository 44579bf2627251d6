package deps

import (
	"maps"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// forbidden are the names that a source must not make by pasting tokens.
var forbidden = words{list: forbiddenNames}

const forbiddenNames = "__DATE__ __TIME__ __TIMESTAMP__ __has_include __has_include_next __has_include__" +
	" __has_include_next__ __has_embed"

// assemblers introduce inline assembly.
var assemblers = words{list: assemblerNames}

const assemblerNames = "asm __asm __asm__"

// longest is the length of the longest name that counts.
const longest = len("__builtin_source_location")

// traces are what a translation unit, its headers included, adds up to: what
// one file begins another may complete.
type traces struct {
	pastes    bool            // tokens, with ##
	pieces    map[string]bool // identifiers that are in names that count
	letters   [4]uint64       // identifiers of one letter that were looked at
	pragmas   bool            // _Pragma
	renames   bool            // include_alias or dependency, as text
	assembler assembler

	alone bool // of one source, which is all of the unit

	ptx bool // inline assembly is PTX, which has no directive that reads a file
	raw bool // R"(…)" is one literal, as in C++ since 2011
}

// of sets what depends on the kind of code, and on the words of its options.
func (t *traces) of(k key.Kind, words []string) {
	t.ptx = k == key.CUDACpp
	// HIPRTC's default is C++14; NVRTC's is C++03 in 11, and later C++17.
	t.raw = k == key.HIPCpp
	for i, w := range words {
		w = unquoted(w)
		std := w
		if _, value, ok := strings.Cut(w, "="); ok && (strings.HasPrefix(w, "-std=") || strings.HasPrefix(w, "--std=")) {
			std = value
		} else if i == 0 || words[i-1] != "-std" && words[i-1] != "--std" {
			std = ""
		}
		switch {
		case strings.HasPrefix(w, "-x"):
			t.raw = false // another language
			return
		case std == "":
		case isOldStandard(std):
			t.raw = false
			return
		case k == key.CUDACpp:
			t.raw = true
		}
	}
}

// isOldStandard says whether a standard may be one without raw strings.
func isOldStandard(std string) bool {
	_, year, ok := strings.Cut(std, "++")
	return !ok || !slices.Contains([]string{"0x", "11", "1y", "14", "1z", "17", "2a", "20", "2b", "23"}, year)
}

// counting are all names that count, one after the other, with a character between
// them that no identifier has in it.
const counting = " " + forbiddenNames + " " + assemblerNames + " " + namesOfPaths + " "

// pairs holds which two characters follow one another in them, so that the
// many identifiers that are in none cost one look.
var pairs couples

func init() {
	clear(pairs[:])
	for i := range len(counting) - 1 {
		pairs.add(counting[i], counting[i+1])
	}
}

// counts says whether an identifier is a part of a name that counts.
func counts(name []byte) bool {
	if len(name) > longest {
		return false
	}
	for i := 1; i < len(name); i++ {
		if !pairs.has(name[i-1], name[i]) {
			return false
		}
	}
	return strings.Contains(counting, string(name))
}

func (t *traces) identifier(name []byte) {
	if len(name) >= 3 {
		t.assembler.identifier(name)
	}
	t.piece(name)
}

// seen says whether an identifier of one letter was looked at, and is no prefix of a
// literal.
func (t *traces) seen(c byte) bool {
	return t.letters[c/64]&(1<<(c%64)) != 0 && c != 'R' && c != 'L' && c != 'u' && c != 'U'
}

func (t *traces) piece(name []byte) {
	if len(name) == 1 {
		c := name[0]
		if t.letters[c/64]&(1<<(c%64)) != 0 {
			return
		}
		t.letters[c/64] |= 1 << (c % 64)
	}
	if !counts(name) || t.pieces[string(name)] {
		return
	}
	if t.pieces == nil {
		t.pieces = make(map[string]bool)
	}
	t.pieces[string(name)] = true
}

// reason says what the traces amount to, beside options that are not known.
func (t *traces) reason() Reason {
	if text := t.assembler.beginning(); text != "" && !t.ptx && t.makes(assemblers.get(), anyPieces) != "" {
		return Reason{reason.NotCacheableFile, "assembler text " + text}
	}
	if t.pastes {
		for _, piece := range slices.Sorted(maps.Keys(t.pieces)) {
			if telling(piece) {
				return Reason{reason.NotCacheableHeaders, piece + " beside ##"}
			}
		}
	}
	return t.names(anyPieces)
}

// anyPieces and fewPieces are of how many pieces a name may be put together.
// The names in a library's headers add up to anything if they are taken letter
// by letter.
const (
	anyPieces = longest
	fewPieces = 4
)

// reasonWith says what the traces of all sources amount to, beside options that
// are known.
func (t *traces) reasonWith(options []string) Reason {
	t.options(options)
	if text := t.assembler.directive(); text != "" && !t.ptx && t.makes(assemblers.get(), anyPieces) != "" {
		return Reason{reason.NotCacheableFile, "assembler text " + text}
	}
	return t.names(fewPieces)
}

// options notes what the words of options are pieces of.
func (t *traces) options(words []string) {
	for _, w := range words {
		t.assembler.option(unquoted(w))
		if !mayDefine(w) {
			continue
		}
		for _, name := range strings.FieldsFunc(w, splitsWords) {
			t.piece([]byte(name))
		}
	}
}

// mayDefine says whether a word of the options may be, or hold, the definition of a
// macro, or be an argument of what is. No other option puts text into a program.
func mayDefine(w string) bool {
	return !strings.HasPrefix(w, "-") || strings.Contains(w, "-D") || strings.HasPrefix(w, "--def") || strings.ContainsAny(w, "\"' ")
}

// names says whether a forbidden name is put together of so many pieces, at
// most.
func (t *traces) names(most int) Reason {
	if t.pragmas && t.renames {
		return Reason{reason.NotCacheableHeaders, "include_alias or dependency beside _Pragma"}
	}
	if !t.pastes {
		return Reason{}
	}
	if name := t.makes(forbidden.get(), most); name != "" {
		return Reason{reason.NotCacheableHeaders, "pieces of " + name + " beside ##"}
	}
	return Reason{}
}

// telling says whether a piece is good for little but a forbidden name, so that
// it counts even if the other pieces come from elsewhere, as from options.
func telling(piece string) bool {
	for _, name := range forbidden.get() {
		if len(piece) < len(name) && (len(piece) >= 2 && strings.HasPrefix(name, piece) ||
			len(piece) >= 3 && strings.HasSuffix(piece, "__") && strings.HasSuffix(name, piece)) {
			return true
		}
	}
	return false
}

// makes returns a name that is among the pieces or, with ##, can be put
// together from so many of them; else "".
func (t *traces) makes(names []string, most int) string {
	for _, name := range names {
		if t.pieces[name] && !slices.Contains(forbidden.get(), name) || t.pastes && t.covers(name, most) {
			return name
		}
	}
	return ""
}

// covers says whether name is a sequence of pieces, of so many at most.
func (t *traces) covers(name string, most int) bool {
	need := make([]int, len(name)+1) // pieces for the name up to here; 0: impossible
	for end := 1; end <= len(name); end++ {
		for start := range end {
			if piece := name[start:end]; slices.Contains(forbidden.get(), piece) || !t.pieces[piece] {
				continue // a forbidden name counts by itself
			}
			if n := need[start] + 1; (start == 0 || n > 1) && (need[end] == 0 || n < need[end]) {
				need[end] = n
			}
		}
	}
	n := need[len(name)]
	return n > 0 && n <= most
}
