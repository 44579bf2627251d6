package elfid

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// file is an ELF file of 64 bits, seen through its program headers: what the
// dynamic loader uses, and what stripping leaves. Package debug/elf reads
// section and string tables whole, which took 2.9 ms for libLLVM-15 against
// some 10 µs here.
type file struct {
	io.ReaderAt
	head     []byte // its beginning, where notes mostly are, too
	order    binary.ByteOrder
	segments []segment
}

type segment struct {
	kind                         uint32
	offset, addr, filesz, aligns uint64
}

// What is looked at of the ELF format. Package debug/elf has these too, and brings 150 KB
// of code into a library that is loaded into other people's processes.
const (
	magic     = "\x7fELF"
	class64   = 2 // byte 4
	bigEndian = 2 // byte 5

	segmentLoad    = 1
	segmentDynamic = 2
	segmentNote    = 4

	tagNeeded  = 1
	tagStrings = 5
	tagSoname  = 14
)

var errFormat = errors.New("not an ELF file of 64 bits")

// Bounds on what is read of files that may be anything.
const (
	maxSegments = 256
	maxTable    = 1 << 16 // bytes of notes, or of dynamic entries
	maxName     = 256     // bytes of a soname
)

func parse(r io.ReaderAt) (*file, error) {
	// The program headers follow the file header in what linkers write, so that
	// one read is enough.
	b := make([]byte, 1024)
	n, err := r.ReadAt(b, 0)
	if b = b[:n]; n < 64 || err != nil && err != io.EOF {
		return nil, errFormat
	}
	if string(b[:4]) != magic || b[4] != class64 {
		return nil, errFormat
	}
	f := &file{ReaderAt: r, head: b, order: binary.LittleEndian}
	if b[5] == bigEndian {
		f.order = binary.BigEndian
	}
	at, size, count := f.order.Uint64(b[32:]), int(f.order.Uint16(b[54:])), int(f.order.Uint16(b[56:]))
	if size < 56 || count > maxSegments || at > 1<<62 {
		return nil, errFormat
	}
	if at+uint64(size*count) <= uint64(len(b)) {
		b = b[at:]
	} else if b, err = f.bytes(at, uint64(size*count)); err != nil {
		return nil, errFormat
	}
	for ; count > 0; count-- {
		f.segments = append(f.segments, segment{
			kind: f.order.Uint32(b), offset: f.order.Uint64(b[8:]), addr: f.order.Uint64(b[16:]),
			filesz: f.order.Uint64(b[32:]), aligns: f.order.Uint64(b[48:]),
		})
		b = b[size:]
	}
	return f, nil
}

func (f *file) bytes(at, n uint64) ([]byte, error) {
	if at > 1<<62 || n > maxTable {
		return nil, errFormat
	}
	if at+n <= uint64(len(f.head)) {
		return f.head[at : at+n], nil
	}
	b := make([]byte, n)
	if _, err := f.ReadAt(b, int64(at)); err != nil {
		return nil, err
	}
	return b, nil
}

// buildID returns nil where there is none.
func (f *file) buildID() []byte {
	for _, s := range f.segments {
		if s.kind != segmentNote {
			continue
		}
		b, err := f.bytes(s.offset, s.filesz)
		if err != nil {
			continue
		}
		if id := gnuBuildID(b, f.order, s.aligns); id != nil {
			return id
		}
	}
	return nil
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

// dynamic returns DT_SONAME and DT_NEEDED, as far as they can be read.
func (f *file) dynamic() (soname string, needed []string) {
	var table []byte
	for _, s := range f.segments {
		if s.kind == segmentDynamic {
			table, _ = f.bytes(s.offset, s.filesz)
		}
	}
	var text, name uint64 // text: address of the string table
	var names []uint64
	for ; len(table) >= 16; table = table[16:] {
		value := f.order.Uint64(table[8:])
		switch f.order.Uint64(table) {
		case tagStrings:
			text = value
		case tagSoname:
			name = value
		case tagNeeded:
			names = append(names, value)
		}
	}
	at, ok := f.offset(text)
	if !ok {
		return "", nil
	}
	t := texts{f: f}
	if name != 0 {
		soname = t.at(at + name)
	}
	for _, n := range names {
		if s := t.at(at + n); s != "" {
			needed = append(needed, s)
		}
	}
	return soname, needed
}

// offset returns where in the file a loaded address comes from.
func (f *file) offset(addr uint64) (uint64, bool) {
	for _, s := range f.segments {
		if s.kind == segmentLoad && s.addr <= addr && addr-s.addr < s.filesz {
			return s.offset + addr - s.addr, true
		}
	}
	return 0, false
}

// texts reads strings of a file, which mostly lie close together.
type texts struct {
	f    *file
	from uint64
	b    []byte // what is there
}

const textsSize = 1 << 10 // bytes read at once

// at reads a string that ends with NUL; a longer one than any soname is none.
func (t *texts) at(at uint64) string {
	if at > 1<<62 {
		return ""
	}
	if at < t.from || at+maxName > t.from+uint64(len(t.b)) {
		// Before it, too: the linker sorts strings by their ends.
		t.from = at - min(at, textsSize/2)
		t.b = make([]byte, textsSize)
		n, _ := t.f.ReadAt(t.b, int64(t.from))
		t.b = t.b[:n]
	}
	rest := t.b[min(at-t.from, uint64(len(t.b))):]
	if i := bytes.IndexByte(rest[:min(len(rest), maxName)], 0); i >= 0 {
		return string(rest[:i])
	}
	return ""
}
