// Package elfid identifies shared libraries by what is in them: the build id that the linker left,
// and a digest of the content, since a library may be changed under its build id. Neither depends
// on where a library lies, when it was installed, or what its package calls itself.
package elfid

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/kernstash/kernstash/internal/contents"
)

// Library is what a shared library says of itself.
type Library struct {
	// ID is what the library is called in keys: "build-id:" with the ELF build id in
	// hexadecimal, where it has one, and "content:" with the digest of the content.
	ID string

	// Soname is its name among libraries; the base name of the file where it has none.
	Soname string

	// Needed are the sonames of the libraries that it is linked with.
	Needed []string
}

// Inspect returns what the library at path says of itself, links followed. A content that the
// process, or another one, has inspected is not read again, unless the file was changed in the last
// seconds, when another change may not show in its times.
func Inspect(path string) (*Library, error) {
	stamp, err := contents.Look(path)
	if err != nil {
		return nil, fmt.Errorf("inspect library: %w", err)
	}
	content, err := contents.Stamped(path, stamp)
	if err != nil {
		return nil, fmt.Errorf("inspect library %s: %w", path, err)
	}
	said, err := contents.Derived("elf1", content, stamp, func() (string, error) {
		l, id, err := read(path)
		if err != nil {
			return "", err
		}
		if after, err := contents.Look(path); err != nil || after != stamp {
			return "", fmt.Errorf("%s: %w", path, errReplaced)
		}
		return strings.Join(append([]string{id, l.Soname}, l.Needed...), "\t"), nil
	})
	if err != nil {
		return nil, fmt.Errorf("inspect library: %w", err)
	}
	id, names, _ := strings.Cut(said, "\t")
	l := &Library{ID: "content:" + content}
	l.Soname, names, _ = strings.Cut(names, "\t")
	if l.Soname = cmp.Or(l.Soname, filepath.Base(path)); names != "" {
		l.Needed = strings.Split(names, "\t")
	}
	if id != "" {
		l.ID = "build-id:" + id + " " + l.ID
	}
	return l, nil
}

// errReplaced is wrapped for files that others replace while they are looked at.
var errReplaced = errors.New("it is being replaced")

// What is looked at of the ELF format. With package debug/elf, which knows it too, a process that is the first to
// inspect Intel's eight libraries takes half a millisecond longer.
const (
	magic     = "\x7fELF\x02" // of 64 bits
	bigEndian = 2             // byte 5

	segmentLoad    = 1
	segmentDynamic = 2
	segmentNote    = 4

	tagNeeded  = 1
	tagStrings = 5
	tagSoname  = 14
)

// Bounds on what is read of files that may be anything.
const (
	maxSegments = 256
	maxTable    = 1 << 16 // bytes of notes, or of dynamic entries
	maxName     = 256     // bytes of a soname
)

// file is an ELF file, seen through its program headers: what the dynamic loader uses, and what
// stripping leaves.
type file struct {
	io.ReaderAt
	start    []byte // of the file, where the program headers and the build id are as a rule
	order    binary.ByteOrder
	segments []segment
	name     [maxName]byte // what text reads into
}

type segment struct {
	kind                        uint32
	offset, addr, filesz, align uint64
}

// read returns what the ELF file of 64 bits at path says, and its build id: nothing of what is no
// such file, or a damaged one.
func read(path string) (l *Library, buildID string, err error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	l = &Library{}
	f, err := parse(r)
	if err != nil {
		return l, "", nil
	}
	var id []byte
	for _, s := range f.segments {
		switch {
		case s.kind == segmentDynamic:
			l.Soname, l.Needed = f.dynamic(f.bytes(s.offset, s.filesz))
		case s.kind == segmentNote && id == nil:
			id = gnuBuildID(f.bytes(s.offset, s.filesz), f.order, s.align)
		}
	}
	return l, hex.EncodeToString(id), nil
}

var errFormat = errors.New("not an ELF file of 64 bits")

// parse reads the program headers.
func parse(r io.ReaderAt) (*file, error) {
	f := &file{ReaderAt: r, order: binary.LittleEndian}
	f.start = f.bytes(0, 1024)
	b := f.bytes(0, 64)
	if len(b) < 64 || string(b[:len(magic)]) != magic {
		return nil, errFormat
	}
	if b[5] == bigEndian {
		f.order = binary.BigEndian
	}
	at, size, count := f.order.Uint64(b[32:]), int(f.order.Uint16(b[54:])), int(f.order.Uint16(b[56:]))
	if size < 56 || count > maxSegments {
		return nil, errFormat
	}
	if b = f.bytes(at, uint64(size*count)); len(b) < size*count {
		return nil, errFormat
	}
	f.segments = make([]segment, 0, count)
	for ; count > 0; count-- {
		f.segments = append(f.segments, segment{
			f.order.Uint32(b), f.order.Uint64(b[8:]), f.order.Uint64(b[16:]), f.order.Uint64(b[32:]), f.order.Uint64(b[48:]),
		})
		b = b[size:]
	}
	return f, nil
}

// bytes returns n bytes of the file, or as many as there are and may be read.
func (f *file) bytes(at, n uint64) []byte {
	if have := uint64(len(f.start)); at < have && n <= have-at {
		return f.start[at : at+n]
	}
	b := make([]byte, min(n, maxTable))
	read, _ := f.ReadAt(b, int64(min(at, 1<<62)))
	return b[:read]
}

// noteBuildID is NT_GNU_BUILD_ID.
const noteBuildID = 3

// gnuBuildID looks through a list of notes: name size, descriptor size and type, 4 bytes each, then
// name and descriptor, each padded to 4 bytes, or to 8 in segments that are so aligned.
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
func (f *file) dynamic(table []byte) (soname string, needed []string) {
	var tables, sonames, names []uint64
	for ; len(table) >= 16; table = table[16:] {
		value := f.order.Uint64(table[8:])
		switch f.order.Uint64(table) {
		case tagStrings:
			tables = append(tables, value)
		case tagSoname:
			sonames = append(sonames, value)
		case tagNeeded:
			names = append(names, value)
		}
	}
	for _, table := range tables {
		for _, s := range f.segments { // the address is one in memory
			if s.kind != segmentLoad || table < s.addr || table-s.addr >= s.filesz {
				continue
			}
			at := s.offset + table - s.addr
			for _, name := range sonames {
				soname = f.text(at + name)
			}
			for _, name := range names {
				if s := f.text(at + name); s != "" {
					needed = append(needed, s)
				}
			}
			return soname, needed
		}
	}
	return "", nil
}

// text reads a string that ends with NUL; a longer one than any soname is none, nor is one with a control character.
func (f *file) text(at uint64) string {
	n, _ := f.ReadAt(f.name[:], int64(min(at, 1<<62)))
	text, _, ok := bytes.Cut(f.name[:n], []byte{0})
	if !ok || bytes.ContainsFunc(text, unicode.IsControl) {
		return ""
	}
	return string(text)
}
