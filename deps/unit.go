package deps

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps/internal/lexer"
	"github.com/kernstash/kernstash/deps/internal/macro"
	"github.com/kernstash/kernstash/deps/internal/names"
	"github.com/kernstash/kernstash/deps/internal/scan"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// firstRead says, for people, what the first line is that reads or looks for a
// file that is not among those given; "" for none.
func firstRead(s *scan.Source, given map[string]bool) string {
	for _, l := range s.Lines {
		switch {
		case l.Kind == scan.Condition:
		case l.Form == 0 || l.Next || l.Kind == scan.Question || !given[l.Name]:
			return showLine(s, l)
		}
	}
	if s.Asks {
		return "__has_include in a macro"
	}
	return ""
}

func showLine(s *scan.Source, l scan.Line) string {
	directive := "#include "
	switch {
	case l.Kind == scan.Question:
		directive = "__has_include "
	case l.Next:
		directive = "#include_next "
	}
	if l.Form != 0 {
		return directive + wanted{form: l.Form, name: l.Name}.String()
	}
	computed := macro.Spell(macro.Lex(s.Text, l.At))
	if len(computed) > 80 {
		computed = computed[:80] + "…"
	}
	return directive + computed
}

// Found is what [ScanUnit] finds in a translation unit.
type Found struct {
	// Reads is the first line that reads or looks for a file, for people; "" says that
	// everything the unit reads is in it. Such a file is found by [Track].
	Reads string
	// Path is the name in OpenCL C that makes code of where its files are, as __FILE__;
	// "" for none. Such a unit has to be tracked though it may read no file. The name of
	// a program in other languages, which are compiled at run time, is its caller's.
	Path string
	// Reason says what speaks against caching the unit whatever its header files are.
	Reason reason.Uncacheable
}

// ScanUnit looks through a translation unit by itself.
//
// Headers that are given in memory are keyed exactly, so an include of one of
// them reads nothing. A unit that has both such headers and files to read is
// not cacheable, nor is one for which a file of the header's name is in the
// working directory: which of the two a compiler takes is unsure.
func ScanUnit(u key.Unit) (found Found) {
	if !isSource(u.Kind) {
		return Found{}
	}
	given := headerNames(u)
	t := scan.Traces{PTX: u.Kind == key.CUDACpp}
	main := scan.Scan(u.Code, &t)
	found.Reads, found.Reason = firstRead(main, given), main.Reason
	for _, h := range u.Headers {
		header := scan.Scan(h.Content, &t)
		found.Reads = cmp.Or(found.Reads, firstRead(header, given))
		if !header.Reason.None() {
			found.because(header.Reason.Code, "%s in header %q", header.Reason.Detail, h.Name)
		}
		if _, err := os.Lstat(h.Name); err == nil {
			found.because(reason.NotCacheableHeaders, "header %q is also a file in the working directory", h.Name)
		}
	}
	if u.Kind == key.OpenCLC {
		delete(t.Pieces, "assert") // it has none but from a header file, which names __FILE__
		found.Path = t.NamesPath()
	}
	switch {
	case found.Reads == "" && found.Reason.None():
		found.Reason = t.Reason()
	case len(u.Headers) > 0:
		found.because(reason.NotCacheableHeaders, "headers in memory beside %s", found.Reads)
	}
	return found // Track looks at all traces of a unit that reads files
}

// Shadow looks for the headers in memory of some units in directories, and returns
// the first that is also a file there, and where; "" for none.
func Shadow(units []key.Unit, dirs []string) (header, dir string) {
	for _, u := range units {
		for _, h := range u.Headers {
			for _, d := range dirs {
				if d == "" {
					continue
				}
				if _, err := os.Lstat(filepath.Join(d, h.Name)); err == nil {
					return h.Name, d
				}
			}
		}
	}
	return "", ""
}

// headerNames returns the names of the headers that a unit has in memory.
func headerNames(u key.Unit) map[string]bool {
	given := make(map[string]bool, len(u.Headers))
	for _, h := range u.Headers {
		given[h.Name] = true
	}
	return given
}

// because notes a reason, unless there is one.
func (f *Found) because(code reason.Reason, format string, args ...any) {
	if f.Reason.None() {
		f.Reason = reason.Uncacheable{Code: code, Detail: fmt.Sprintf(format, args...)}
	}
}

// isSource reports whether code of the kind goes through a preprocessor. The
// input of a compiler of the caller's own is taken as it is.
func isSource(k key.Kind) bool { return k == key.OpenCLC || k == key.CUDACpp || k == key.HIPCpp }

// typeWords are of the language: no header file makes macros of them.
var typeWords = strings.Fields("bool char short int long unsigned signed float double void const true false")

// NameExpressions is what [LookAtExpressions] finds.
type NameExpressions struct {
	Unknown string // one that may be a directive, or a name that depends on time; "": there is none
	Path    bool   // one names a path, or a part of such a name
	Foreign bool   // one has a name that the source does not have: a header may make anything of it
}

// LookAtExpressions looks at name expressions, which a run-time compiler takes for text of
// the program behind its source.
func LookAtExpressions(expressions []string, source []byte) (found NameExpressions) {
	foreign := make(map[string]bool) // names that are not of the source, as far as is known
	for _, text := range expressions {
		if strings.ContainsAny(text, "#\n\r\v\f\x00") || strings.HasSuffix(text, "\\") ||
			slices.ContainsFunc([]string{"%:", "??", "\\u", "\\U"}, func(s string) bool { return strings.Contains(text, s) }) {
			found.Unknown = text
		}
		for identifier := range lexer.Identifiers([]byte(text)) {
			name := string(identifier)
			if (len(name) > 2 || strings.Contains(name, "_")) && strings.Contains(names.ForbiddenNames, name) || name == "_Pragma" {
				found.Unknown = text
			}
			found.Path = found.Path || slices.Contains(names.PathNames, name) || names.IsPathPiece(name)
			if !slices.Contains(typeWords, name) {
				foreign[name] = true
			}
		}
	}
	for name := range lexer.Identifiers(source) {
		if len(foreign) == 0 {
			break
		}
		delete(foreign, string(name))
	}
	found.Foreign = len(foreign) > 0
	return found
}
