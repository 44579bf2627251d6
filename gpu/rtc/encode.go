package rtc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/internal/wire"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// What is stored of an output is one binary:
//
//	"kernstash rtc\x00\x01"; \x02 where there is a program's name at the end
//	log                 an answer
//	number of forms     u32; then, in order, each form's number (u32) and answer
//	number of names     u32; then each expression, code (u32), name
//	the program's name  with its directory, where the log has it
//
// An answer is asked (u32, 0 or 1), code (u32), and bytes; bytes and texts have
// their length (u64) in front. All numbers are little-endian.
const (
	magic      = "kernstash rtc\x00\x01"
	magicNamed = "kernstash rtc\x00\x02"
)

// errEncoding is wrapped by Decode.
var errEncoding = errors.New("not an output of a run-time compiler")

// nameBytes are those that a name expression of a stored output takes at least.
const nameBytes = 8 + 4 + 8

// Encode returns the output as one piece of bytes.
func (o *Output) Encode() []byte {
	begin := magic
	if o.isNamed() {
		begin = magicNamed
	}
	b := appendAnswer([]byte(begin), o.log)
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
	if begin == magicNamed {
		b = appendBytes(b, []byte(o.name))
	}
	return b
}

// isNamed reports whether the log has the name in it that the program was compiled under,
// and the name a directory, which another program of the same key may not have.
func (o *Output) isNamed() bool {
	return NameDir(o.name) != "" && bytes.Contains(o.log.Data, []byte(o.name))
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
	if len(b) < len(magic) || string(b[:len(magic)]) != magic && string(b[:len(magic)]) != magicNamed {
		return nil, errEncoding
	}
	named := string(b[:len(magic)]) == magicNamed
	r := wire.NewReader(b[len(magic):])
	data := func() []byte { return r.Take(r.U64()) }
	answer := func() Answer {
		asked := r.U32()
		if asked > 1 {
			r.Fail("asked %d times", asked)
		}
		return Answer{Asked: asked == 1, Code: int(int32(r.U32())), Data: data()}
	}
	o := &Output{log: answer()}
	last := -1
	for n := r.U32(); n > 0 && r.Err() == nil; n-- {
		f := int(r.U32())
		if f <= last || f >= int(numForms) {
			return nil, fmt.Errorf("%w: form %d", errEncoding, f)
		}
		o.forms[f], last = answer(), f
	}
	for range r.Count(uint64(r.U32()), nameBytes) {
		o.lowered = append(o.lowered, Lowered{Expression: string(data()), Code: int(int32(r.U32())), Name: string(data())})
	}
	if named {
		o.name = string(data())
	}
	if r.End() != nil || named != o.isNamed() {
		return nil, errEncoding
	}
	return o, nil
}

// Artifact returns the output of a recipe's program as what a store keeps. An error is a
// *kernstash.UnfitError: others of the recipe's key must not have the output.
func (o *Output) Artifact(r *key.Recipe) (*store.Artifact, error) {
	name := NameOf(r)
	if _, random := key.Attribute(r.Options.Attributes, deps.SourceParent); random && o.shows(name) {
		return nil, &kernstash.UnfitError{Why: "a header file puts the directory of the program's name, " + NameDir(name) + ", into its code"}
	}
	if file, found := o.unkeyedFile(r); found && r.Device.API == NVRTC.String() {
		return nil, &kernstash.UnfitError{Why: "line information names a file that is not in the key as it is: " + file}
	}
	if r.Device.API == NVJitLink.String() && o.looksAtFiles(r) {
		return nil, &kernstash.UnfitError{Why: "line information of files that are not known"}
	}
	named := *o
	named.name = name
	var pch store.Precompiled
	if flags.PrecompilesHeaders(r.Options.Compile) {
		var said bool
		if pch, named.log.Data, said = precompiled(o.log.Data); !said {
			return nil, &kernstash.UnfitError{Why: "whether precompiled header files took part is not known"}
		}
	}
	a := &store.Artifact{Binaries: []store.Binary{{Form: store.FormFinal, Data: named.Encode()}}, Log: named.Log(), Precompiled: pch}
	for _, name := range o.entries() {
		a.Kernels = append(a.Kernels, store.Kernel{Name: name})
	}
	return a, nil
}

// FromArtifact returns the output that Artifact made one of, as that of a program of a
// name, which may differ from the other by its directory: that is what messages have.
func FromArtifact(a *store.Artifact, name string) (*Output, error) {
	if len(a.Binaries) != 1 {
		return nil, errEncoding
	}
	o, err := Decode(a.Binaries[0].Data)
	if err != nil {
		return nil, err
	}
	if o.name != "" && name != "" {
		o.log.Data = rename(o.log.Data, o.name, name)
		o.name = name
	}
	return o, nil
}
