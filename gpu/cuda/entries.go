package cuda

import (
	"bytes"
	"debug/elf"
	"encoding/binary"

	"github.com/kernstash/kernstash/store"
)

// versionAt is where an ELF file has its version, e_version.
const versionAt = 20

// stoEntry is STO_CUDA_ENTRY, the bit of a symbol that says that it is a kernel.
const stoEntry = 0x10

// entries returns the kernels of a cubin, which is an ELF file; none where it is
// not understood. They are for people: the driver is asked for what is launched.
func entries(cubin []byte) []store.Kernel {
	if !isCubin(cubin) || len(cubin) < versionAt+4 {
		return nil
	}
	own := bytes.Clone(cubin)
	binary.LittleEndian.PutUint32(own[versionAt:], uint32(elf.EV_CURRENT)) // it is CUDA's, 118 for 11.8
	f, err := elf.NewFile(bytes.NewReader(own))
	if err != nil {
		return nil
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil
	}
	var kernels []store.Kernel
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Other&stoEntry != 0 {
			kernels = append(kernels, store.Kernel{Name: s.Name})
		}
	}
	return kernels
}
