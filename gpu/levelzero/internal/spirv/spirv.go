// Package spirv reads what the cache must know of a module of SPIR-V that is not in the calls of
// the API: how large its specialization constants are, and whether it reads images. The SPIR-V
// specification, "Physical Layout of a SPIR-V Module and Instruction".
package spirv

import (
	"encoding/binary"
	"errors"
	"maps"
)

// Module is what was read.
type Module struct {
	// Constants are the sizes in bytes of the specialization constants, by their ids
	// (the decoration SpecId, not the result's): 1, 2, 4 or 8. One that is of another
	// size, or of several, is none: nobody knows how much of a value is read.
	Constants map[uint32]int

	// Images says that the module has image types.
	Images bool
}

// ErrFormat is returned for what is no SPIR-V.
var ErrFormat = errors.New("not a module of SPIR-V")

// The instructions and operands that are looked at.
const (
	magic       = 0x07230203
	headerWords = 5

	opTypeBool          = 20
	opTypeInt           = 21
	opTypeFloat         = 22
	opTypeImage         = 25
	opSpecConstantTrue  = 48
	opSpecConstantFalse = 49
	opSpecConstant      = 50
	opFunction          = 54
	opDecorate          = 71

	decorationSpecID = 1
)

// Read reads what comes before the functions of a module, in the byte order of this
// machine or the other one.
func Read(code []byte) (*Module, error) {
	if len(code) < 4*headerWords {
		return nil, ErrFormat
	}
	var order binary.ByteOrder = binary.LittleEndian
	if order.Uint32(code) != magic {
		if order = binary.BigEndian; order.Uint32(code) != magic {
			return nil, ErrFormat
		}
	}
	m := &Module{}
	ids := make(map[uint32]uint32) // of SpecId, by the result
	widths := make(map[uint32]int) // of types, in bytes
	word := func(b []byte, i int) uint32 { return order.Uint32(b[4*i:]) }
	for rest := code[4*headerWords:]; len(rest) >= 4; {
		n, op := int(word(rest, 0)>>16), word(rest, 0)&0xffff
		if n == 0 || 4*n > len(rest) {
			return nil, ErrFormat
		}
		one := rest[:4*n]
		rest = rest[4*n:]
		switch {
		case op == opFunction:
			rest = nil
		case op == opTypeImage:
			m.Images = true
		case op == opDecorate && n == 4 && word(one, 2) == decorationSpecID:
			ids[word(one, 1)] = word(one, 3)
		case op == opTypeBool && n == 2:
			widths[word(one, 1)] = 1
		case (op == opTypeInt || op == opTypeFloat) && n >= 3:
			if n := word(one, 2); n == 8 || n == 16 || n == 32 || n == 64 {
				widths[word(one, 1)] = int(n / 8)
			}
		case (op == opSpecConstant || op == opSpecConstantTrue || op == opSpecConstantFalse) && n >= 3:
			id, decorated := ids[word(one, 2)]
			if !decorated {
				continue
			}
			size := widths[word(one, 1)] // 0: not known, or of several
			if before, ok := m.Constants[id]; ok && before != size {
				size = 0
			}
			if m.Constants == nil {
				m.Constants = make(map[uint32]int)
			}
			m.Constants[id] = size
		}
	}
	maps.DeleteFunc(m.Constants, func(_ uint32, size int) bool { return size == 0 })
	return m, nil
}
