package rtc

import (
	"bytes"
	"encoding/binary"
	"strings"
)

const elfMagic = "\x7fELF"

// elf64 is the header of a file of ELF for 64 bits, from its offset 32 on. Package debug/elf refuses NVIDIA's,
// whose version is that of CUDA.
type elf64 struct {
	ProgramsAt, SectionsAt                       uint64
	_                                            uint32
	_, ProgramSize, Programs, SectionSize, Count uint16
	Names                                        uint16
}

// elfSection is a section's header.
type elfSection struct {
	Name, Type        uint32
	_, _, Offset, Len uint64
	_, _              uint32
	_, _              uint64
}

// elfSections returns the names of the sections of a file of ELF, with line tables and all; false: it is none
// for 64 bits, or does not hold all that its headers tell of.
func elfSections(code []byte) (names []string, ok bool) {
	var h elf64
	const class64, little = 2, 1
	size := uint64(len(code))
	within := func(at, n uint64) bool { return at <= size && n <= size-at }
	if len(code) < 64 || string(code[:4]) != elfMagic || code[4] != class64 || code[5] != little {
		return nil, false
	}
	if binary.Read(bytes.NewReader(code[32:]), binary.LittleEndian, &h) != nil {
		return nil, false
	}
	all := make([]elfSection, h.Count)
	if h.Programs > 0 && (h.ProgramSize != 56 || !within(h.ProgramsAt, uint64(h.Programs)*56)) ||
		h.Count == 0 || h.SectionSize != 64 || !within(h.SectionsAt, uint64(h.Count)*64) || h.Names >= h.Count ||
		binary.Read(bytes.NewReader(code[h.SectionsAt:]), binary.LittleEndian, all) != nil {
		return nil, false
	}
	const noBits, processor = 8, 0x70000000 // among NVIDIA's own types some have no bytes
	for _, s := range all {
		if s.Type != 0 && s.Type != noBits && s.Type < processor && !within(s.Offset, s.Len) {
			return nil, false
		}
	}
	table := all[h.Names]
	if !within(table.Offset, table.Len) {
		return nil, false
	}
	text := code[table.Offset : table.Offset+table.Len]
	for _, s := range all {
		if uint64(s.Name) >= uint64(len(text)) {
			return nil, false
		}
		name, _, _ := strings.Cut(string(text[s.Name:]), "\x00")
		names = append(names, name)
	}
	return names, true
}
