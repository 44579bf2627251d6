package elfid

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
)

// Bounds on what is read of files that may be anything.
const (
	maxTable = 1 << 16 // bytes of notes, or of dynamic entries
	maxName  = 256     // bytes of a soname
)

// read returns what the ELF file of 64 bits at path says, and its build id: nothing of what is no
// such file, or a damaged one. It looks at what the dynamic loader uses, which stripping leaves. Of
// the table of strings it reads those that it needs: the whole takes milliseconds.
func read(path string) (l *Library, buildID string, err error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	l = &Library{}
	f, err := elf.NewFile(segments{r})
	if err != nil || f.Class != elf.ELFCLASS64 {
		return l, "", nil
	}
	var id []byte
	for _, p := range f.Progs {
		switch {
		case p.Type == elf.PT_DYNAMIC:
			l.Soname, l.Needed = dynamic(f, table(p), r)
		case p.Type == elf.PT_NOTE && id == nil:
			id = gnuBuildID(table(p), f.ByteOrder, p.Align)
		}
	}
	return l, hex.EncodeToString(id), nil
}

// segments is a file of 64 bits as the dynamic loader sees it: without section headers, of which debug/elf
// takes no damaged ones.
type segments struct{ io.ReaderAt }

func (s segments) ReadAt(b []byte, at int64) (int, error) {
	n, err := s.ReaderAt.ReadAt(b, at)
	for _, field := range [][2]int64{{40, 48}, {60, 64}} { // e_shoff; e_shnum and e_shstrndx
		for i := max(field[0], at); i < min(field[1], at+int64(n)); i++ {
			b[i-at] = 0
		}
	}
	return n, err
}

// table returns the content of a segment.
func table(p *elf.Prog) []byte {
	b := make([]byte, min(p.Filesz, maxTable))
	n, _ := p.ReadAt(b, 0)
	return b[:n]
}

// noteBuildID is NT_GNU_BUILD_ID.
const noteBuildID = 3

// gnuBuildID looks through a list of notes: name size, descriptor size and
// type, 4 bytes each, then name and descriptor, each padded to 4 bytes, or to
// 8 in segments that are so aligned.
func gnuBuildID(b []byte, order binary.ByteOrder, align uint64) []byte {
	if align != 8 {
		align = 4
	}
	pad := func(n uint64) uint64 { return (n + align - 1) &^ (align - 1) }
	for len(b) >= 12 {
		name, desc, kind := uint64(order.Uint32(b)), uint64(order.Uint32(b[4:])), order.Uint32(b[8:])
		start := pad(12 + name)
		if start+desc > uint64(len(b)) {
			return nil
		}
		if kind == noteBuildID && desc > 0 && name == 4 && string(b[12:16]) == "GNU\x00" {
			return b[start : start+desc]
		}
		b = b[min(pad(start+desc), uint64(len(b))):]
	}
	return nil
}

// dynamic returns DT_SONAME and DT_NEEDED of a dynamic section, as far as they can be read.
func dynamic(f *elf.File, table []byte, r io.ReaderAt) (soname string, needed []string) {
	values := make(map[elf.DynTag][]uint64)
	for ; len(table) >= 16; table = table[16:] {
		tag := elf.DynTag(f.ByteOrder.Uint64(table))
		values[tag] = append(values[tag], f.ByteOrder.Uint64(table[8:]))
	}
	for _, strtab := range values[elf.DT_STRTAB] {
		for _, p := range f.Progs { // the address is one in memory
			if p.Type != elf.PT_LOAD || strtab < p.Vaddr || strtab-p.Vaddr >= p.Filesz {
				continue
			}
			at := p.Off + strtab - p.Vaddr
			for _, name := range values[elf.DT_SONAME] {
				soname = textAt(r, at+name)
			}
			for _, name := range values[elf.DT_NEEDED] {
				if s := textAt(r, at+name); s != "" {
					needed = append(needed, s)
				}
			}
			return soname, needed
		}
	}
	return "", nil
}

// textAt reads a string that ends with NUL; a longer one than any soname is none.
func textAt(r io.ReaderAt, at uint64) string {
	b := make([]byte, maxName)
	n, _ := r.ReadAt(b, int64(at))
	text, _, ok := bytes.Cut(b[:n], []byte{0})
	if !ok {
		return ""
	}
	return string(text)
}
