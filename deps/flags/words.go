package flags

import (
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps/internal/lexer"
	"github.com/kernstash/kernstash/deps/internal/names"
	"github.com/kernstash/kernstash/key"
)

const quotes = "\"'\\"

var unquoter = strings.NewReplacer(`"`, "", `'`, "", `\`, "")

// Unquoted returns a word without quotes and backslashes.
func Unquoted(w string) string { return unquoter.Replace(w) }

func isSpace(c rune) bool { return c <= ' ' }

// settled reports whether all drivers take w for one word, and none of them takes
// in what follows: they split at spaces, some at other white space, and quotes
// and backslashes count for some.
func settled(w string) bool {
	if strings.HasSuffix(w, `\`) || strings.ContainsFunc(w, isSpace) {
		return false
	}
	return closed(w, `"`, false) && closed(w, `"`, true) && closed(w, `"'`, false) && closed(w, `"'`, true)
}

// closed reports whether w ends outside of its quotes.
func closed(w, quotes string, escapes bool) bool {
	var open byte
	for i := 0; i < len(w); i++ {
		switch c := w[i]; {
		case escapes && c == '\\':
			i++
		case open != 0 && c == open:
			open = 0
		case open == 0 && strings.IndexByte(quotes, c) >= 0:
			open = c
		}
	}
	return open == 0
}

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

// isOldStandard reports whether a standard may be one without raw strings.
func isOldStandard(std string) bool {
	_, year, ok := strings.Cut(std, "++")
	return !ok || !slices.Contains([]string{"0x", "11", "1y", "14", "1z", "17", "2a", "20", "2b", "23"}, year)
}

// NamedPath returns a word of compile options that may put the name of a source into what
// is built, as -DWHERE=__FILE__, or a part of such a name; "" for none.
func NamedPath(words []string) string {
	for _, w := range words {
		for _, name := range strings.FieldsFunc(Unquoted(w), lexer.SplitsWords) {
			if slices.Contains(names.PathNames[:names.PathParts], name) || names.IsPathPiece(name) && (strings.Contains(name, "FILE") || strings.Contains(name, "__")) {
				return w
			}
		}
	}
	return ""
}

// KeepPaths reports whether what is built depends on where files are, and on the working
// directory, because of the words of compile options: debug information holds them. pastes
// says that a source pastes tokens: then a piece of a name that puts paths into it counts.
func KeepPaths(words []string, pastes bool) bool {
	for _, w := range words {
		w = Unquoted(w)
		switch w {
		case "-g0":
			continue
		case "-rdc=true", "--relocatable-device-code=true", "-dc", "-fgpu-rdc", // static functions are named after the file
			"-G", "-lineinfo", "--generate-line-info", "-generate-line-info", "--device-debug", "-device-debug":
			return true
		}
		if strings.HasPrefix(w, "-g") || slices.ContainsFunc(names.PathNames, func(n string) bool { return strings.Contains(w, n) }) {
			return true
		}
		if pastes && slices.ContainsFunc(strings.FieldsFunc(w, lexer.SplitsWords), names.IsPathPiece) {
			return true
		}
	}
	return false
}

// PrecompilesHeaders reports whether the words of compile options have NVRTC keep header files
// precompiled for later compiles of the process.
func PrecompilesHeaders(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains([]string{"-pch", "--pch"}, Unquoted(w)) })
}

// lineInfo are the options with which NVRTC makes line information.
var lineInfo = []string{"-G", "-device-debug", "--device-debug", "-lineinfo", "-generate-line-info", "--generate-line-info"}

// KeepLines reports whether NVRTC makes line information because of the words of compile options.
func KeepLines(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(lineInfo, Unquoted(w)) })
}

// KeepTimes reports whether what NVRTC builds has the times of files in it, because of the words of
// compile options: the line information of machine code does. PTX and LTO IR have none (seen with
// 11.8 and 12.4).
func KeepTimes(words []string) bool {
	machine := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "sm_") })
	return machine && KeepLines(words) && !slices.Contains(words, "-dlto") && !slices.Contains(words, "--dlink-time-opt")
}
