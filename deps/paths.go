package deps

import (
	"slices"
	"strings"

	"github.com/kernstash/kernstash/key"
)

// pathNames are what puts paths into what is built. assert is a macro of the
// compiler's own in NVRTC; elsewhere it comes from a header that names __FILE__.
// In C++ a function's full name may have the place of a lambda in it.
var pathNames = words{list: namesOfPaths}

const namesOfPaths = "__FILE__ __BASE_FILE__ __FILE_NAME__ __builtin_FILE __builtin_FILE_NAME" +
	" __builtin_source_location source_location assert" +
	" __PRETTY_FUNCTION__ __FUNCSIG__ __builtin_FUNCSIG"

// pathParts is how many of them are made of the name of a file.
const pathParts = 5

// keepsPaths says whether what is built depends on where files are: by a name
// in the sources, whole or to be pasted together, or by the options. Too often
// costs sharing between directories, so it takes any piece for the whole.
func (t *traces) keepsPaths(words []string) bool {
	return t.namesPath() != "" || t.keepPaths(words)
}

// namesPath returns the name in the sources that puts paths into what is built; "" for
// none.
func (t *traces) namesPath() string {
	for _, name := range pathNames.get() {
		if t.pieces[name] || t.pastes && t.covers(name, fewPieces) {
			return name
		}
	}
	return ""
}

// NamesPath returns the name in an OpenCL C unit that makes code of where its files are,
// as __FILE__, as far as this is told by the unit alone; "" for none. Such a unit has to be
// tracked though it may read no file.
func NamesPath(u key.Unit) string {
	if u.Kind != key.OpenCLC {
		return "" // the name of a program that is compiled at run time is its caller's
	}
	texts := [][]byte{u.Code}
	for _, h := range u.Headers {
		texts = append(texts, h.Content)
	}
	if !slices.ContainsFunc(texts, mayNamePath) {
		return ""
	}
	var t traces
	for _, text := range texts {
		scan(text, &t)
	}
	return t.namesPath()
}

// mayNamePath says whether a text has a part of a name in it that makes code of paths, or
// makes names of parts.
func mayNamePath(text []byte) bool {
	return slices.ContainsFunc([]string{"_FILE", "source_location", "PRETTY_FUNC", "FUNCSIG", "##", "%:", "??=", "\\\n", "\\\r", "??/"},
		func(part string) bool { return contains(text, part) })
}

// KeepPaths reports whether what is built depends on where files are, and on the working
// directory, because of the words of compile options: debug information holds them.
func KeepPaths(words []string) bool { return new(traces).keepPaths(words) }

// NamedPath returns a word of compile options that may put the name of a source into what
// is built, as -DWHERE=__FILE__, or a part of such a name; "" for none.
func NamedPath(words []string) string {
	for _, w := range words {
		for _, name := range strings.FieldsFunc(unquoted(w), splitsWords) {
			if slices.Contains(pathNames.get()[:pathParts], name) || isPathPiece(name) && (strings.Contains(name, "FILE") || strings.Contains(name, "__")) {
				return w
			}
		}
	}
	return ""
}

func (t *traces) keepPaths(words []string) bool {
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
	return slices.ContainsFunc(pathNames.get()[:pathParts], func(n string) bool {
		return len(name) > 2 && len(name) < len(n) && strings.Contains(n, name)
	})
}
