package scan

import (
	"cmp"

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
