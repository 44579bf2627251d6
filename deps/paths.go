package deps

import (
	"slices"
	"strings"
)

// pathNames are what puts paths into what is built. assert is a macro of the
// compiler's own in NVRTC; elsewhere it comes from a header that names __FILE__.
// In C++ a function's full name may have the place of a lambda in it.
var pathNames = words{list: namesOfPaths}

const namesOfPaths = "__FILE__ __BASE_FILE__ __FILE_NAME__ __builtin_FILE __builtin_FILE_NAME" +
	" __builtin_source_location source_location assert" +
	" __PRETTY_FUNCTION__ __FUNCSIG__ __builtin_FUNCSIG"

// keepsPaths says whether what is built depends on where files are: by a name
// in the sources, whole or to be pasted together, or by the options. Too often
// costs sharing between directories, so it takes any piece for the whole.
func (t *traces) keepsPaths(words []string) bool {
	for _, name := range pathNames.get() {
		if t.pieces[name] || t.pastes && t.covers(name, fewPieces) {
			return true
		}
	}
	for _, w := range words {
		w = unquoted(w)
		switch w {
		case "-g0":
			continue
		case "-rdc=true", "--relocatable-device-code=true", "-dc", "-fgpu-rdc":
			return true // the names of static functions are made of the file's
		case "-G", "-lineinfo", "--generate-line-info", "-generate-line-info", "--device-debug", "-device-debug":
			return true
		}
		if strings.HasPrefix(w, "-g") || slices.ContainsFunc(pathNames.get(), func(n string) bool { return strings.Contains(w, n) }) {
			return true
		}
		if t.pastes && slices.ContainsFunc(strings.FieldsFunc(w, splitsWords), isPathPiece) {
			return true
		}
	}
	return false
}

// isPathPiece says whether name is a good part of one that puts paths into
// what is built.
func isPathPiece(name string) bool {
	return slices.ContainsFunc(pathNames.get()[:5], func(n string) bool {
		return len(name) > 2 && len(name) < len(n) && strings.Contains(n, name)
	})
}
