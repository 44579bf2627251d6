package rtc

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/store"
)

// What is stored of an output is one binary:
//
//	"kernstash rtc\x00\x01"
//	log                 an answer
//	number of forms     u32; then, in order, each form's number (u32) and answer
//	number of names     u32; then each expression, code (u32), name
//
// An answer is asked (u32, 0 or 1), code (u32), and bytes; bytes and texts have
// their length (u64) in front. All numbers are little-endian.
const magic = "kernstash rtc\x00\x01"

// errEncoding is wrapped by Decode.
var errEncoding = errors.New("not an output of a run-time compiler")

// maxNames bounds the name expressions of a stored output.
const maxNames = 1 << 20

// Encode returns the output as one piece of bytes.
func (o *Output) Encode() []byte {
	size := len(magic) + 64
	for _, a := range o.forms {
		size += 32 + len(a.Data)
	}
	for _, l := range o.lowered {
		size += 32 + len(l.Expression) + len(l.Name)
	}
	b := append(make([]byte, 0, size+len(o.log.Data)), magic...)
	b = appendAnswer(b, o.log)
	n := 0
	for _, a := range o.forms {
		if a.Asked {
			n++
		}
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	for f, a := range o.forms {
		if a.Asked {
			b = appendAnswer(binary.LittleEndian.AppendUint32(b, uint32(f)), a)
		}
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(o.lowered)))
	for _, l := range o.lowered {
		b = appendBytes(b, []byte(l.Expression))
		b = binary.LittleEndian.AppendUint32(b, uint32(l.Code))
		b = appendBytes(b, []byte(l.Name))
	}
	return b
}

func appendAnswer(b []byte, a Answer) []byte {
	asked := uint32(0)
	if a.Asked {
		asked = 1
	}
	b = binary.LittleEndian.AppendUint32(b, asked)
	b = binary.LittleEndian.AppendUint32(b, uint32(a.Code))
	return appendBytes(b, a.Data)
}

func appendBytes(b, data []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(data))), data...)
}

// Decode returns the output that b holds, whose bytes it shares.
func Decode(b []byte) (*Output, error) {
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return nil, errEncoding
	}
	r := reader{b: b[len(magic):]}
	o := &Output{log: r.answer()}
	last := -1
	for n := r.number(); n > 0 && !r.bad; n-- {
		f := int(r.number())
		if f <= last || f >= int(numForms) {
			return nil, fmt.Errorf("%w: form %d", errEncoding, f)
		}
		o.forms[f], last = r.answer(), f
	}
	n := r.number()
	if n > maxNames {
		r.bad = true
	}
	for ; n > 0 && !r.bad; n-- {
		o.lowered = append(o.lowered, Lowered{Expression: string(r.bytes()), Code: int(int32(r.number())), Name: string(r.bytes())})
	}
	if r.bad || len(r.b) > 0 {
		return nil, errEncoding
	}
	return o, nil
}

type reader struct {
	b   []byte
	bad bool
}

func (r *reader) number() uint32 {
	if len(r.b) < 4 {
		r.bad, r.b = true, nil
		return 0
	}
	n := binary.LittleEndian.Uint32(r.b)
	r.b = r.b[4:]
	return n
}

func (r *reader) bytes() []byte {
	if len(r.b) < 8 {
		r.bad, r.b = true, nil
		return nil
	}
	n := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	data := r.b[:n:n]
	r.b = r.b[n:]
	return data
}

func (r *reader) answer() Answer {
	asked := r.number()
	if asked > 1 {
		r.bad = true
	}
	return Answer{Asked: asked == 1, Code: int(int32(r.number())), Data: r.bytes()}
}

// Artifact returns the output as what a store keeps.
func (o *Output) Artifact() *store.Artifact {
	a := &store.Artifact{
		Binaries: []store.Binary{{Form: store.FormFinal, Data: o.Encode()}},
		Log:      o.Log(),
	}
	for _, name := range o.entries() {
		a.Kernels = append(a.Kernels, store.Kernel{Name: name})
	}
	return a
}

// FromArtifact returns the output that Artifact made one of.
func FromArtifact(a *store.Artifact) (*Output, error) {
	if len(a.Binaries) != 1 {
		return nil, errEncoding
	}
	return Decode(a.Binaries[0].Data)
}
