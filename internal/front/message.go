package front

import (
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// Tag says what a field holds: see kernstash_front.h.
type Tag uint32

// The tags, in the order of kernstash_front.h.
const (
	Function Tag = 1 + iota
	Platform
	Device
	Version
	Environment
	Directories
	Unit
	Code
	Header
	Constant
	Name
	Options
	Expression
	Age
	Ended
	Status
	Part
	Binary
	Answer
	Log
	Kernel
	KernelAttributes
	Argument
	ArgumentType
	Lowered
	Unknown
	Passed
	Released
	Launched
	Sizes
	Compiles
	CompiledLate
	Saved
	tags
)

// Field is a field of a message.
type Field struct {
	Tag    Tag
	Detail uint32
	Number uint64
	Data   []byte // nil: none
}

// Message is what one side says to the other.
type Message []Field

func (f Field) Text() string            { return string(f.Data) }                      // a copy
func (f Field) Address() uintptr        { return uintptr(f.Number) }                   // the number
func (f Field) Duration() time.Duration { return time.Duration(min(f.Number, 1<<62)) } // the number, in nanoseconds

// String returns the bytes of a string, which are not to be changed. They are not nil.
func String(s string) []byte {
	if s == "" {
		return []byte{}
	}
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// ErrMessage is wrapped for messages that make no sense.
var ErrMessage = errors.New("a message that makes no sense")

// Unexpected returns an error for a field that has no place in a message.
func (f Field) Unexpected() error { return fmt.Errorf("%w: field %d", ErrMessage, f.Tag) }

// wire is a field as C has it.
type wire struct {
	tag, detail uint32
	number      uint64
	data        unsafe.Pointer
	size        uintptr
}

// Raw is a message as C has it (ksf_message).
type Raw struct {
	First unsafe.Pointer // of an array of ksf_field
	Count uint64
}

// The bounds of a message from C. What is beyond makes no sense.
const (
	maxFields = 1 << 22
	maxData   = 1 << 30 // bytes of a piece of code, or of a binary
	maxText   = 16 << 20
)

// bound returns how many bytes a field of a tag may have.
func (t Tag) bound() uintptr {
	switch t {
	case Code, Binary, Answer:
		return maxData
	}
	return maxText
}

// view returns a message of C's, whose data it shares.
func (r Raw) view() (Message, error) {
	if r.Count > maxFields || r.Count > 0 && r.First == nil {
		return nil, fmt.Errorf("%w: %d fields", ErrMessage, r.Count)
	}
	m := make(Message, r.Count)
	for i, w := range unsafe.Slice((*wire)(r.First), int(r.Count)) {
		if tag := Tag(w.tag); tag == 0 || tag >= tags || w.size > tag.bound() || w.data == nil && w.size > 0 {
			return nil, fmt.Errorf("%w: field %d of %d bytes", ErrMessage, w.tag, w.size)
		}
		m[i] = Field{Tag: Tag(w.tag), Detail: w.detail, Number: w.number}
		if w.data != nil {
			m[i].Data = unsafe.Slice((*byte)(w.data), int(w.size))
		}
	}
	return m, nil
}

// shared is from how many bytes on data is pinned where it is, and not copied into one
// piece with the rest.
const shared = 256

// align is what the data of each field begins at a multiple of, as memory of malloc's does.
const align = 16

// forC returns a message as C reads it, until the pins are undone.
func (m Message) forC(pins *runtime.Pinner) Raw {
	if len(m) == 0 {
		return Raw{}
	}
	size := 1 // so that there is a first byte
	for i := range m {
		if n := len(m[i].Data); n < shared {
			size += n + align
		}
	}
	all, small := make([]wire, len(m)), make([]byte, 0, (size+align-1)&^(align-1))
	pins.Pin(&all[0])
	pins.Pin(unsafe.SliceData(small))
	for i, f := range m {
		all[i] = wire{tag: uint32(f.Tag), detail: f.Detail, number: f.Number, size: uintptr(len(f.Data))}
		switch {
		case f.Data == nil:
		case len(f.Data) < shared:
			// Drivers may read binaries and answers as structures.
			small = small[:(len(small)+align-1)&^(align-1)]
			all[i].data = unsafe.Add(unsafe.Pointer(unsafe.SliceData(small)), len(small))
			small = append(small, f.Data...)
		default:
			all[i].data = unsafe.Pointer(&f.Data[0])
			pins.Pin(&f.Data[0])
		}
	}
	return Raw{unsafe.Pointer(&all[0]), uint64(len(all))}
}

// Environ returns what reads the environment at the field's address; nil where there is
// none. It is to be called while the request's bytes are C's.
func (f Field) Environ() func() []string {
	if f.Number == 0 {
		return nil
	}
	return func() []string { return dl.StringsAt(f.Address()) }
}
