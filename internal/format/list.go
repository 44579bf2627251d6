package format

import (
	"encoding/binary"

	"github.com/kernstash/kernstash/internal/wire"
	"github.com/kernstash/kernstash/store"
)

func readKernel(r *wire.Reader) store.Kernel {
	k := store.Kernel{Name: r.Text(), Attributes: r.Text()}
	if n := r.Count(uint64(r.U32()), argBytes); n > 0 {
		k.Args = make([]store.Arg, n)
		for i := range k.Args {
			k.Args[i] = store.Arg{
				Name: r.Text(), TypeName: r.Text(), Address: r.U64(), Access: r.U64(), TypeQual: r.U64(),
			}
		}
	}
	return k
}

// argBytes is the least that an argument takes: two empty strings, three
// numbers.
const argBytes = 2*4 + 3*8

func appendKernel(b []byte, k store.Kernel) []byte {
	b = wire.AppendText(wire.AppendText(b, k.Name), k.Attributes)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(k.Args)))
	for _, a := range k.Args {
		b = wire.AppendText(wire.AppendText(b, a.Name), a.TypeName)
		b = binary.LittleEndian.AppendUint64(b, a.Address)
		b = binary.LittleEndian.AppendUint64(b, a.Access)
		b = binary.LittleEndian.AppendUint64(b, a.TypeQual)
	}
	return b
}
