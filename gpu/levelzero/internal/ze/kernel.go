package ze

import (
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// KernelID is a ze_kernel_handle_t.
type KernelID uintptr

var (
	zeKernelCreate           = entry{name: "zeKernelCreate"}
	zeKernelDestroy          = entry{name: "zeKernelDestroy"}
	zeKernelGetProperties    = entry{name: "zeKernelGetProperties"}
	zeKernelSetGroupSize     = entry{name: "zeKernelSetGroupSize"}
	zeKernelSuggestGroupSize = entry{name: "zeKernelSuggestGroupSize"}
	zeKernelSetArgumentValue = entry{name: "zeKernelSetArgumentValue"}
	zeKernelSetIndirect      = entry{name: "zeKernelSetIndirectAccess"}
)

// KernelCreate makes a kernel of a module.
func KernelCreate(m ModuleID, name string) (KernelID, error) {
	c := dl.CString(name)
	pinned := pin(addr(c))
	defer pinned.Unpin()
	desc := &struct {
		header
		flags uint32
		name  unsafe.Pointer
	}{header: header{stype: stypeKernelDesc}, name: addr(c)}
	h, err := zeKernelCreate.create(uintptr(m), uintptr(unsafe.Pointer(desc)))
	return KernelID(h), err
}

// KernelDestroy destroys a kernel.
func KernelDestroy(k KernelID) error { return zeKernelDestroy.call(uintptr(k)) }

// KernelProperties is ze_kernel_properties_t.
type KernelProperties struct {
	header
	Args                                    uint32
	RequiredGroupSize                       [3]uint32
	RequiredSubGroups, RequiredSubGroupSize uint32
	MaxSubGroupSize, MaxSubGroups           uint32
	LocalMemory, PrivateMemory, SpillMemory uint32
	UUID                                    [32]byte
}

// KernelGetProperties asks what a kernel is.
func KernelGetProperties(k KernelID) (*KernelProperties, error) {
	p := &KernelProperties{header: header{stype: stypeKernelProperties}}
	return p, zeKernelGetProperties.call(uintptr(k), uintptr(unsafe.Pointer(p)))
}

// KernelSetGroupSize says how large a group is in the launches that follow.
func KernelSetGroupSize(k KernelID, size [3]uint32) error {
	return zeKernelSetGroupSize.call(uintptr(k), uintptr(size[0]), uintptr(size[1]), uintptr(size[2]))
}

// KernelSuggestGroupSize asks how large a group is best for a global size.
func KernelSuggestGroupSize(k KernelID, global [3]uint32) ([3]uint32, error) {
	s := new([3]uint32)
	err := zeKernelSuggestGroupSize.call(uintptr(k), uintptr(global[0]), uintptr(global[1]), uintptr(global[2]),
		uintptr(unsafe.Pointer(&s[0])), uintptr(unsafe.Pointer(&s[1])), uintptr(unsafe.Pointer(&s[2])))
	return *s, err
}

// KernelSetArgumentValue sets an argument; a nil value is local memory of a size, or
// a null pointer.
func KernelSetArgumentValue(k KernelID, i, size int, value unsafe.Pointer) error {
	return zeKernelSetArgumentValue.call(uintptr(k), uintptr(i), uintptr(size), uintptr(value))
}

// KernelSetIndirectAccess says which memory a kernel may reach through pointers in
// memory: the bits of ze_kernel_indirect_access_flags_t.
func KernelSetIndirectAccess(k KernelID, flags uint32) error {
	return zeKernelSetIndirect.call(uintptr(k), uintptr(flags))
}
