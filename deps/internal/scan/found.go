package scan

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/deps/internal/lexer"
	"github.com/kernstash/kernstash/deps/internal/names"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// Source is what a scan of one source, or header file, found.
type Source struct {
	Text    []byte // logical text, which lines and macros point into
	joined  []int  // where its lines were joined
	Lines   []Line
	Macros  []Definition
	Undefs  []string
	Asks    bool // a macro of it has __has_include in it
	Follows bool // it has a line that depends on where the source was found: include_next
	Nests   bool // likewise, for what it includes: a file that is found beside it goes on there
	Reason  reason.Uncacheable
}

// Size returns how much of it was kept.
func (s *Source) Size() int { return len(s.Lines) + len(s.Macros) + len(s.Undefs) }

// Uses returns a name of watch that stands in the code, or what makes that unsure; "" for
// neither. t is of the kind that the source was scanned as.
func (s *Source) Uses(watch map[string]bool, t *Traces) string {
	again := scanner{
		text: s.Text, joined: s.joined, traces: &Traces{PTX: t.PTX, Raw: t.Raw},
		found: new(Source), watch: watch,
	}
	again.scan()
	return cmp.Or(again.watched, again.found.Reason.Detail)
}

// Line is one that reads or looks for a file, or may do so.
type Line struct {
	Kind LineKind
	Next bool   // the search goes on where the source itself was found
	Form byte   // '"' or '<'; 0: computed, from the tokens at
	Name string // as written, without delimiters
	At   int
	End  int // of the directive, with the lines that a comment carries it over; of a condition alone
}

// LineKind says what a line does.
type LineKind uint8

// The kinds of lines.
const (
	Include   LineKind = iota // #include and its kin
	Question                  // __has_include, which decides by a file
	Condition                 // an #if, in which a macro may ask for files; computed
)

// Definition is of a macro.
type Definition struct {
	Name string
	At   int // behind the name
	End  int // of the directive
}

// Traces are what a translation unit, its headers included, adds up to: what
// one file begins another may complete.
type Traces struct {
	Pastes    bool            // tokens, with ##
	Pieces    map[string]bool // identifiers that are in names that count
	pragmas   bool            // _Pragma
	renames   bool            // include_alias or dependency, in code or in a literal
	assembler assembler
	letters   [256]bool // the pieces of one letter, of which generated code is full

	PTX bool // inline assembly is PTX, which has no directive that reads a file
	Raw bool // R"(…)" is one literal, as in C++ since 2011
}

// NewTraces returns the traces of a unit of a kind, with the words of its options.
func NewTraces(k key.Kind, words []string) *Traces {
	return &Traces{PTX: k == key.CUDACpp, Raw: flags.RawStrings(k, words)}
}

// Fresh returns the traces of another source of the unit, which has none yet.
func (t *Traces) Fresh() *Traces { return &Traces{PTX: t.PTX, Raw: t.Raw} }

// Add adds what another source of the unit has left.
func (t *Traces) Add(o *Traces) {
	t.Pastes = t.Pastes || o.Pastes
	t.pragmas = t.pragmas || o.pragmas
	t.renames = t.renames || o.renames
	t.assembler = cmp.Or(t.assembler, o.assembler)
	for i := range t.letters {
		t.letters[i] = t.letters[i] || o.letters[i]
	}
	if t.Pieces == nil && len(o.Pieces) > 0 {
		t.Pieces = make(map[string]bool)
	}
	maps.Copy(t.Pieces, o.Pieces)
}

// literal looks at the text of a string, which may be assembler's or a pragma.
func (t *Traces) literal(text []byte) {
	t.pragma(text)
	if !t.PTX {
		t.assembler.literal(text)
	}
}

// pragma looks at text that _Pragma may make a directive of. NVRTC's front end knows no
// #pragma GCC dependency; clang looks at the file that it names.
func (t *Traces) pragma(text []byte) {
	t.renames = t.renames || bytes.Contains(text, []byte("include_alias")) || !t.PTX && bytes.Contains(text, []byte("dependency"))
}

func (t *Traces) piece(name []byte) {
	if len(name) == 1 {
		t.letters[name[0]] = true
	}
	if t.Pieces[string(name)] || !names.Counts(name) {
		return
	}
	if t.Pieces == nil {
		t.Pieces = make(map[string]bool)
	}
	t.Pieces[string(name)] = true
}

// knows reports whether a name is a letter that was looked at. R may begin a raw string.
func (t *Traces) knows(name []byte) bool {
	return len(name) == 1 && t.letters[name[0]] && name[0] != 'R'
}

// Reason says what the traces amount to, beside options that are not known.
func (t *Traces) Reason() reason.Uncacheable {
	if t.Pastes {
		for _, piece := range slices.Sorted(maps.Keys(t.Pieces)) {
			if names.Telling(piece) {
				return reason.Uncacheable{Code: reason.NotCacheableHeaders, Detail: piece + " beside ##"}
			}
		}
	}
	return t.names(names.AnyPieces)
}

// ReasonWith says what the traces of all sources amount to, beside options that
// are known.
func (t *Traces) ReasonWith(options []string) reason.Uncacheable {
	t.Options(options)
	return t.names(names.FewPieces)
}

// Options notes what the words of options are pieces of. Directories to search are no
// text for an assembler: the "." of "-I ." begins no directive.
func (t *Traces) Options(words []string) {
	rest, _, _, _ := flags.ParseSearch(words)
	for _, w := range rest {
		t.assembler.option(flags.Unquoted(w))
	}
	for _, w := range words {
		if !flags.MayDefine(w) {
			continue
		}
		for _, name := range strings.FieldsFunc(w, lexer.SplitsWords) {
			t.piece([]byte(name))
		}
	}
}

// names reports whether a forbidden name is put together of so many pieces, at
// most, or text for an assembler reads a file.
func (t *Traces) names(most int) reason.Uncacheable {
	if t.assembler != "" && !t.PTX && t.Makes(names.Assemblers, names.AnyPieces) != "" {
		return reason.Uncacheable{Code: reason.NotCacheableFile, Detail: "assembler text " + string(t.assembler)}
	}
	if t.pragmas && t.renames {
		return reason.Uncacheable{Code: reason.NotCacheableHeaders, Detail: "include_alias or dependency beside _Pragma"}
	}
	if name := t.Makes(names.Forbidden, most); name != "" {
		return reason.Uncacheable{Code: reason.NotCacheableHeaders, Detail: "pieces of " + name + " beside ##"}
	}
	return reason.Uncacheable{}
}

// Makes returns a name that is among the pieces or, with ##, can be put
// together from so many of them; else "".
func (t *Traces) Makes(wanted []string, most int) string {
	for _, name := range wanted {
		if t.Pieces[name] && !slices.Contains(names.Forbidden, name) || t.Pastes && t.covers(name, most) {
			return name
		}
	}
	return ""
}

// covers reports whether name is a sequence of pieces, of so many at most.
func (t *Traces) covers(name string, most int) bool {
	return names.Covered(name, most, func(piece string) bool { return t.Pieces[piece] && !slices.Contains(names.Forbidden, piece) })
}

// KeepsPaths reports whether what is built depends on where files are: by a name
// in the sources, whole or to be pasted together, or by the options. Too often
// costs sharing between directories, so it takes any piece for the whole.
func (t *Traces) KeepsPaths(words []string) bool {
	return t.NamesPath() != "" || flags.KeepPaths(words, t.Pastes)
}

// NamesPath returns the name in the sources that puts paths into what is built; "" for
// none.
func (t *Traces) NamesPath() string {
	for _, name := range names.PathNames {
		if t.Pieces[name] || t.Pastes && t.covers(name, names.FewPieces) {
			return name
		}
	}
	return ""
}
