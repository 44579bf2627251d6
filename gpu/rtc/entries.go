package rtc

import (
	"bytes"
	"slices"
)

// maxEntries bounds how many kernels are named for people.
const maxEntries = 64

// entries returns the names of the kernels, as far as the PTX, or AMD's code object,
// tells: what people know a program by. They are in its order.
func (o *Output) entries() []string {
	if names := kernelSymbols(o.forms[Code].Data); len(names) > 0 {
		return names
	}
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

// kernelSymbols returns the names whose kernel descriptors are among the symbols of a
// code object: those before .kd.
func kernelSymbols(code []byte) (names []string) {
	suffix := []byte(".kd\x00")
	for len(names) < maxEntries {
		end := bytes.Index(code, suffix)
		if end < 0 {
			break
		}
		if name := string(code[bytes.LastIndexByte(code[:end], 0)+1 : end]); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		code = code[end+len(suffix):]
	}
	return names
}
