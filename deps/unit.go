package deps

import (
	"cmp"
	"fmt"
	"os"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

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
	var t traces
	t.ptx = u.Kind == key.CUDACpp
	t.alone = len(u.Headers) == 0
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
			return reads, Reason{reason.NotCacheableHeaders, fmt.Sprintf("header %q is also a file in the working directory", h.Name)}
		}
	}
	if reads != "" && len(u.Headers) > 0 {
		return reads, Reason{reason.NotCacheableHeaders, "headers in memory beside " + reads}
	}
	if reads != "" {
		return reads, Reason{} // which Track asks for, with all that is read
	}
	return "", t.reason()
}

func scanOne(src []byte, given map[string]bool, t *traces) (reads string, r Reason) {
	f := scan(src, t)
	return f.reads(given), f.reason
}

// isSource says whether code of the kind goes through a preprocessor. The
// input of a compiler of the caller's own is taken as it is.
func isSource(k key.Kind) bool {
	return k == key.OpenCLC || k == key.CUDACpp || k == key.HIPCpp
}
