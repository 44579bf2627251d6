package deps

import (
	"cmp"
	"fmt"
	"os"

	"github.com/kernstash/kernstash/deps/internal/macro"
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
		case l.Form == 0 || l.Next || l.Kind == scan.Question:
			return showLine(s, l)
		case !given[l.Name]:
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
	switch l.Form {
	case '"':
		return directive + `"` + l.Name + `"`
	case '<':
		return directive + "<" + l.Name + ">"
	}
	computed := macro.Spell(macro.Lex(s.Text, l.At))
	if len(computed) > 80 {
		computed = computed[:80] + "…"
	}
	return directive + computed
}

// ScanUnit says what speaks against caching a translation unit whatever its
// header files are, and which line of it is the first to read or look for a
// file: "" says that everything the unit reads is in it. Such a file is found
// by [Track].
//
// Headers that are given in memory are keyed exactly, so an include of one of
// them reads nothing. A unit that has both such headers and files to read is
// not cacheable, nor is one for which a file of the header's name is in the
// working directory: which of the two a compiler takes is unsure.
func ScanUnit(u key.Unit) (reads string, r Reason) {
	if !isSource(u.Kind) {
		return "", Reason{}
	}
	given := make(map[string]bool, len(u.Headers))
	for _, h := range u.Headers {
		given[h.Name] = true
	}
	var t scan.Traces
	t.PTX = u.Kind == key.CUDACpp
	t.Alone = len(u.Headers) == 0
	reads, r = scanOne(u.Code, given, &t)
	if !r.None() {
		return reads, r
	}
	for _, h := range u.Headers {
		also, r := scanOne(h.Content, given, &t)
		if !r.None() {
			r.Detail = fmt.Sprintf("%s in header %q", r.Detail, h.Name)
			return reads, r
		}
		reads = cmp.Or(reads, also)
		if _, err := os.Lstat(h.Name); err == nil {
			return reads, reason.Uncacheable{Code: reason.NotCacheableHeaders, Detail: fmt.Sprintf("header %q is also a file in the working directory", h.Name)}
		}
	}
	if reads != "" && len(u.Headers) > 0 {
		return reads, reason.Uncacheable{Code: reason.NotCacheableHeaders, Detail: "headers in memory beside " + reads}
	}
	if reads != "" {
		return reads, Reason{} // which Track asks for, with all that is read
	}
	return "", t.Reason()
}

func scanOne(src []byte, given map[string]bool, t *scan.Traces) (reads string, r Reason) {
	f := scan.Scan(src, t)
	return firstRead(f, given), f.Reason
}

// isSource says whether code of the kind goes through a preprocessor. The
// input of a compiler of the caller's own is taken as it is.
func isSource(k key.Kind) bool {
	return k == key.OpenCLC || k == key.CUDACpp || k == key.HIPCpp
}
