package rtc

import (
	"bytes"
	"slices"
)

// maxEntries bounds how many kernels are named for people.
const maxEntries = 64

// entries returns the names of the kernels, as far as the PTX tells: what people
// know a program by. They are in the order of the text.
func (o *Output) entries() []string {
	var names []string
	directive := []byte(".entry ")
	for rest := o.forms[PTX].Data; len(names) < maxEntries; {
		i := bytes.Index(rest, directive)
		if i < 0 {
			break
		}
		rest = rest[i+len(directive):]
		end := bytes.IndexAny(rest, "( \t\n;,")
		if end <= 0 {
			continue
		}
		if name := string(rest[:end]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
