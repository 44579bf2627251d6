package programs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"

	"github.com/kernstash/kernstash/key"
)

// Fresh returns a program that differs from p in nothing but its text: with another
// mark, which is one line, it is another program to everyone who keeps programs.
func (p Program) Fresh(mark string) Program {
	texts := make(map[key.Kind][]byte)
	for kind, text := range p.Texts {
		texts[kind] = fmt.Appendf(nil, "// %s\n%s", mark, text)
	}
	// The third word of a module says what tool made it, and means nothing else.
	module := bytes.Clone(p.Texts[key.SPIRV])
	h := fnv.New32a()
	_, _ = h.Write([]byte(mark))
	binary.LittleEndian.PutUint32(module[8:], h.Sum32())
	texts[key.SPIRV] = module
	p.Texts = texts
	return p
}
