package deps

import (
	"slices"

	"github.com/kernstash/kernstash/deps/internal/lexer"
	"github.com/kernstash/kernstash/deps/internal/scan"
	"github.com/kernstash/kernstash/key"
)

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
	var t scan.Traces
	for _, text := range texts {
		scan.Scan(text, &t)
	}
	return t.NamesPath()
}

// mayNamePath says whether a text has a part of a name in it that makes code of paths, or
// makes names of parts.
func mayNamePath(text []byte) bool {
	return slices.ContainsFunc([]string{"_FILE", "source_location", "PRETTY_FUNC", "FUNCSIG", "##", "%:", "??=", "\\\n", "\\\r", "??/"},
		func(part string) bool { return lexer.Contains(text, part) })
}
