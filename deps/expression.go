package deps

import (
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps/internal/lexer"
	"github.com/kernstash/kernstash/deps/internal/names"
)

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
