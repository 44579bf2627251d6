package rtc

import (
	"bytes"

	"github.com/kernstash/kernstash/internal/pattern"
	"github.com/kernstash/kernstash/store"
)

// precompiledMessage is what NVRTC says, with --pch, of each file that it keeps header files in.
var precompiledMessage = pattern.Lazy(`: (using|creating) precompiled header file "([^"\n]*)"`)

// precompiled returns what a log says of precompiled header files, and the log without it: the files
// are those of one process. said is false where it says nothing, though there may be some.
func precompiled(log []byte) (p store.Precompiled, rest []byte, said bool) {
	for line := range bytes.Lines(log) {
		m := precompiledMessage().FindSubmatch(line)
		switch {
		case m == nil && !bytes.Contains(line, []byte("precompiled header file")):
			rest = append(rest, line...)
		case m == nil: // why one is not used
		case string(m[1]) == "using":
			p.Used = append(p.Used, string(m[2]))
		default:
			p.Made = append(p.Made, string(m[2]))
		}
	}
	if n := len(log); n > 0 && log[n-1] == 0 && !bytes.HasSuffix(rest, []byte{0}) {
		rest = append(rest, 0)
	}
	return p, rest, len(p.Used)+len(p.Made) > 0
}
