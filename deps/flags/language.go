package flags

import (
	"slices"
	"strings"

	"github.com/kernstash/kernstash/key"
)

// RawStrings reports whether code of a kind has raw strings by the words of its options.
func RawStrings(k key.Kind, words []string) bool {
	// HIPRTC's default is C++14; NVRTC's is C++03 in 11, and later C++17.
	raw := k == key.HIPCpp
	for i, w := range words {
		w = Unquoted(w)
		std := w
		if _, value, ok := strings.Cut(w, "="); ok && (strings.HasPrefix(w, "-std=") || strings.HasPrefix(w, "--std=")) {
			std = value
		} else if i == 0 || words[i-1] != "-std" && words[i-1] != "--std" {
			std = ""
		}
		switch {
		case strings.HasPrefix(w, "-x"): // another language
			return false
		case std == "":
		case isOldStandard(std):
			return false
		case k == key.CUDACpp:
			raw = true
		}
	}
	return raw
}

// isOldStandard says whether a standard may be one without raw strings.
func isOldStandard(std string) bool {
	_, year, ok := strings.Cut(std, "++")
	return !ok || !slices.Contains([]string{"0x", "11", "1y", "14", "1z", "17", "2a", "20", "2b", "23"}, year)
}
