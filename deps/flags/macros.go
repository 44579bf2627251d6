package flags

import (
	"strings"

	"github.com/kernstash/kernstash/deps/internal/names"
)

// macroOptions are the options that define a macro, or undefine it.
var macroOptions = []string{"--define-macro", "-define-macro", "--undefine-macro", "-D", "-U"}

// A Macro is what an option says of one.
type Macro struct {
	Text     string // NAME, NAME=VALUE or NAME(PARAMETERS)=VALUE
	Undefine bool
}

// Macros returns the macros that words define or undefine. What is quoted is read
// differently by drivers; sure is false where it may be a macro's name.
func Macros(words []string) (list []Macro, sure bool) {
	sure = true
	for i := 0; i < len(words); i++ {
		w := words[i]
		hides := strings.ContainsAny(macroName(w), quotes) && names.HasAnyPrefix(Unquoted(w), macroOptions)
		if hides || !settled(w) { // only drivers that take quotes away see the macro's name
			sure = false
			continue
		}
		rest, ok := "", false
		for _, o := range macroOptions {
			if rest, ok = strings.CutPrefix(w, o); ok {
				w = o
				break
			}
		}
		if !ok {
			continue
		}
		if strings.HasPrefix(w, "-d") || strings.HasPrefix(w, "--") {
			rest = strings.TrimPrefix(rest, "=")
		}
		if rest == "" && i+1 < len(words) {
			i++
			rest = words[i]
			sure = sure && settled(rest) && !strings.ContainsAny(macroName(rest), quotes)
		}
		list = append(list, Macro{rest, strings.HasSuffix(w, "U") || strings.HasPrefix(w, "--un")})
	}
	return list, sure
}

// macroName returns what stands before a macro's value.
func macroName(d string) string {
	name, _, _ := strings.Cut(d, "=")
	return name
}

// MayDefine says whether a word of the options may be, or hold, the definition of a
// macro, or be an argument of what is. No other option puts text into a program.
func MayDefine(w string) bool {
	return !strings.HasPrefix(w, "-") || strings.Contains(w, "-D") || strings.HasPrefix(w, "--def") || strings.ContainsAny(w, "\"' ")
}
