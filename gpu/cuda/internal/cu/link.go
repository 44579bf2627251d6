package cu

import (
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

var (
	cuLinkCreate   = entry{name: "cuLinkCreate_v2"}
	cuLinkAddData  = entry{name: "cuLinkAddData_v2"}
	cuLinkComplete = entry{name: "cuLinkComplete"}
	cuLinkDestroy  = entry{name: "cuLinkDestroy"}
)

// InputKind is a CUjitInputType.
type InputKind int32

// What can be linked.
const (
	InputCubin     InputKind = 0
	InputPTX       InputKind = 1
	InputFatBinary InputKind = 2
	InputObject    InputKind = 3
	InputLibrary   InputKind = 4
)

// Input is something to link, with the name that the log gives it.
type Input struct {
	Kind InputKind
	Name string
	Data []byte // PTX with a NUL behind it
}

// CanLink says whether the library has what Link needs; the error says what is
// missing.
func CanLink() error {
	for _, e := range []*entry{&cuLinkCreate, &cuLinkAddData, &cuLinkComplete, &cuLinkDestroy} {
		if _, err := e.find(); err != nil {
			return err
		}
	}
	return nil
}

// Link makes a cubin for the device of the current context. log is what the
// driver's compiler said.
func Link(inputs []Input, options ...JITOption) (cubin []byte, log string, err error) {
	j := newJIT(options)
	defer j.unpin()
	state := new(uintptr)
	if err := cuLinkCreate.call(uintptr(len(j.names)), uintptr(addr(j.names)), uintptr(addr(j.values)), uintptr(unsafe.Pointer(state))); err != nil {
		return nil, j.log(), err
	}
	for _, in := range inputs {
		err := cuLinkAddData.call(*state, uintptr(in.Kind), uintptr(addr(in.Data)), uintptr(len(in.Data)), uintptr(addr(dl.CString(in.Name))), 0, 0, 0)
		if err != nil {
			_ = cuLinkDestroy.call(*state)
			return nil, j.log(), err
		}
	}
	at, size := new(uintptr), new(uintptr)
	err = cuLinkComplete.call(*state, uintptr(unsafe.Pointer(at)), uintptr(unsafe.Pointer(size)))
	if err == nil && *at != 0 {
		cubin = append(cubin, dl.Bytes(*at, int(*size))...) // the link's own until it is destroyed
	}
	if failed := cuLinkDestroy.call(*state); err == nil {
		err = failed
	}
	return cubin, j.log(), err
}
