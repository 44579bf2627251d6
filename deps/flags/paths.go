package flags

import (
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps/internal/lexer"
	"github.com/kernstash/kernstash/deps/internal/names"
)

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
		case "-rdc=true", "--relocatable-device-code=true", "-dc", "-fgpu-rdc":
			return true // the names of static functions are made of the file's
		case "-G", "-lineinfo", "--generate-line-info", "-generate-line-info", "--device-debug", "-device-debug":
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
