package deps

import (
	"fmt"
	"os"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

// ScanUnit says whether everything that a translation unit reads is in it.
// Headers that are given in memory are keyed exactly, so an include of one of
// them is no obstacle; an include of anything else is, as header files are not
// tracked. A file of the header's name in the working directory makes it
// unsure which of the two the compiler takes.
func ScanUnit(u key.Unit) Reason {
	if !isSource(u.Kind) {
		return Reason{}
	}
	given := make(map[string]bool, len(u.Headers))
	for _, h := range u.Headers {
		given[h.Name] = true
	}
	var t traces
	if r := scanOne(u.Code, given, &t); !r.None() {
		return r
	}
	for _, h := range u.Headers {
		if r := scanOne(h.Content, given, &t); !r.None() {
			r.Detail = fmt.Sprintf("%s in header %q", r.Detail, h.Name)
			return r
		}
		if _, err := os.Lstat(h.Name); err == nil {
			return Reason{stats.NotCacheableHeaders, fmt.Sprintf("header %q is also a file in the working directory", h.Name)}
		}
	}
	return t.reason()
}

func scanOne(src []byte, given map[string]bool, t *traces) Reason {
	f := scan(src, t)
	if !f.Reason.None() {
		return f.Reason
	}
	for _, name := range f.Includes {
		if !given[name] {
			return Reason{stats.NotCacheableHeaders, fmt.Sprintf("#include %q", name)}
		}
	}
	return Reason{}
}

// isSource says whether code of the kind goes through a preprocessor. The
// input of a compiler of the caller's own is taken as it is.
func isSource(k key.Kind) bool {
	return k == key.OpenCLC || k == key.CUDACpp || k == key.HIPCpp
}
