package programs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
)

// Fresh returns a program that differs from p in nothing but its text: with another
// mark, which is one line, it is another program to everyone who keeps programs.
func (p Program) Fresh(mark string) Program {
	comment := fmt.Sprintf("// %s\n", mark)
	p.Source, p.CUDA = comment+p.Source, comment+p.CUDA
	p.SPIRV = bytes.Clone(p.SPIRV)
	h := fnv.New32a()
	_, _ = h.Write([]byte(mark))
	// The third word of a module says what tool made it, and means nothing else.
	binary.LittleEndian.PutUint32(p.SPIRV[8:], h.Sum32())
	return p
}
