package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/kernstash/kernstash/deps/internal/digest"
	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/key"
)

// The encoding is specified in docs/FORMAT.md, "Manifest".
const (
	magic = "kstdeps\n"
	// Version is the version of the encoding. First keys have it, too.
	Version = 2
	// maxBytes is the largest encoding that is read.
	maxBytes = 64 << 20
)

// placings are by their numbers in the encoding.
var placings = [...]Placing{Unplaced, Placed, Called}

// ErrInvalid is wrapped when bytes are no manifest of this version.
var ErrInvalid = errors.New("not a manifest of this version")

// Append appends the encoding of m to b, under a name (see deps.FirstKey): its digest
// is over the name too, so what is kept under another is no manifest.
func (m *Manifest) Append(b []byte, name key.Digest) []byte {
	start := len(b)
	b = append(b, magic...)
	b = appendU32(b, Version)
	b = appendU32(b, slices.Index(placings[:], m.placing))
	b = append(b, m.unit[:]...)
	b = appendText(b, m.dir)
	b = appendIncludes(b, m.includes)
	b = appendU32(b, len(m.files))
	for _, f := range m.files {
		b = append(b, f.Digest[:]...)
		b = binary.LittleEndian.AppendUint64(b, uint64(f.Size))
		b = appendText(b, f.Path)
		b = appendIncludes(b, f.Includes)
	}
	b = appendU32(b, len(m.reads))
	for _, r := range m.reads {
		b = appendText(b, r.Path)
		b = appendU32(b, r.File)
		b = appendU32(b, 0)
		if r.Settled {
			b[len(b)-4] = 1
		}
		for _, n := range []uint64{r.Stamp.Device, r.Stamp.Number, uint64(r.Stamp.Mtime), uint64(r.Stamp.Ctime)} {
			b = binary.LittleEndian.AppendUint64(b, n)
		}
	}
	b = appendU32(b, len(m.probes))
	for _, p := range m.probes {
		b = appendText(b, p.Path)
		b = appendU32(b, int(p.Kind))
	}
	sum := namedSum(b[start:], name)
	return append(b, sum[:]...)
}

// namedSum returns the digest of an encoding and its name.
func namedSum(b []byte, name key.Digest) key.Digest {
	d := digest.New("kernstash manifest")
	d.Write(name[:])
	d.Write(b)
	return d.Digest()
}

func appendU32(b []byte, n int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(n)) }

func appendText(b []byte, s string) []byte { return append(appendU32(b, len(s)), s...) }

func appendIncludes(b []byte, list []key.Include) []byte {
	b = appendU32(b, len(list))
	for _, i := range list {
		b = appendU32(appendText(b, i.Name), i.File+1)
	}
	return b
}

// Verify returns an error, which wraps [ErrInvalid], unless b has the digest that Append gave
// it under the name.
func Verify(b []byte, name key.Digest) error {
	end := len(b) - sha256.Size
	if end < 0 || len(b) > maxBytes {
		return fmt.Errorf("parse manifest: %w: %d bytes", ErrInvalid, len(b))
	}
	if sum := namedSum(b[:end], name); !bytes.Equal(sum[:], b[end:]) {
		return fmt.Errorf("parse manifest: %w: its digest is wrong", ErrInvalid)
	}
	return nil
}

// Parse reads what Append wrote; an error wraps [ErrInvalid]. The manifest's texts lie in b,
// which must not be changed. It does not call [Verify]: a caller may begin to check the files of
// what may still turn out to be damaged, but must not believe what comes of it.
func Parse(b []byte) (*Manifest, error) {
	m, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("parse manifest: %w: %w", ErrInvalid, err)
	}
	return m, nil
}

func parse(b []byte) (*Manifest, error) {
	end := len(b) - sha256.Size
	if end < 0 || len(b) > maxBytes {
		return nil, fmt.Errorf("%d bytes", len(b))
	}
	// A copy would be as much memory again, at each first hit of a process.
	r := &parser{text: unsafe.String(unsafe.SliceData(b), end)}
	if r.bytes(len(magic)) != magic || r.u32() != Version {
		return nil, errors.New("another magic or version")
	}
	placing := r.u32()
	if r.check(placing >= 0 && placing < len(placings), "an unknown placing"); r.err != nil {
		return nil, r.err
	}
	m := &Manifest{placing: placings[placing], unit: r.digest(), dir: r.string()}
	m.includes = r.includes()
	m.files = make([]key.File, r.count(32+8+4+4))
	for i := range m.files {
		m.files[i] = key.File{Digest: r.digest(), Size: r.i64(), Path: r.string(), Includes: r.includes()}
		r.check(m.files[i].Size >= 0, "a size below 0")
	}
	m.reads = make([]Read, r.count(4+4+4+4*8))
	for i := range m.reads {
		m.reads[i] = r.seen(m.files)
		r.check(i == 0 || compareReads(m.reads[i-1], m.reads[i]) < 0, "paths out of order")
	}
	m.probes = make([]files.Probe, r.count(4+4))
	for i := range m.probes {
		path, k := r.string(), r.u32()
		r.check(k <= int(files.RealDirectory), "a probe of an unknown kind")
		m.probes[i] = files.Probe{Path: path, Kind: files.Kind(k)}
		r.check(i == 0 || compareProbes(m.probes[i-1], m.probes[i]) < 0, "probes out of order")
	}
	r.check(r.text == "", "bytes behind its end")
	if r.err == nil {
		r.err = m.validate()
	}
	if r.err != nil {
		return nil, r.err
	}
	return m, nil
}

// validate makes sure that the parts belong together: every line leads to a
// file, every file is led to, in order, and was read by the path it has.
func (m *Manifest) validate() error {
	next := 0
	lists := []([]key.Include){m.includes}
	for len(lists) > 0 {
		last := len(lists) - 1
		if len(lists[last]) == 0 {
			lists = lists[:last]
			continue
		}
		i := lists[last][0].File
		lists[last] = lists[last][1:]
		switch {
		case i < next: // also those that were not found
		case i == next && i < len(m.files):
			lists = append(lists, m.files[i].Includes)
			next++
		default:
			return errors.New("files out of order")
		}
	}
	if next != len(m.files) {
		return errors.New("a file that nothing leads to")
	}
	named := 0 // no two reads have one path
	for _, r := range m.reads {
		if r.Path == m.files[r.File].Path {
			named++
		}
	}
	if named != len(m.files) {
		return errors.New("a file that was not read by its path")
	}
	return nil
}

// parser reads a manifest from the front. After an error it reads zeros.
type parser struct {
	text string
	err  error
	room []key.Include // for lists to come
}

func (r *parser) check(ok bool, otherwise string) {
	if !ok && r.err == nil {
		r.err = errors.New(otherwise)
	}
}

func (r *parser) bytes(n int) string {
	if r.check(n >= 0 && n <= len(r.text), "cut short"); r.err != nil {
		return ""
	}
	var v string
	v, r.text = r.text[:n], r.text[n:]
	return v
}

func (r *parser) u32() int {
	v := r.bytes(4)
	if v == "" {
		return 0
	}
	return int(binary.LittleEndian.Uint32([]byte(v)))
}

func (r *parser) i64() int64 {
	v := r.bytes(8)
	if v == "" {
		return 0
	}
	return int64(binary.LittleEndian.Uint64([]byte(v)))
}

// count reads the number of elements, of which each takes at least so many
// bytes.
func (r *parser) count(size int) int {
	n := r.u32()
	if r.check(n >= 0 && n <= len(r.text)/size, "cut short"); r.err != nil {
		return 0
	}
	return n
}

func (r *parser) string() string { return r.bytes(r.u32()) }

func (r *parser) digest() (d key.Digest) {
	copy(d[:], r.bytes(len(d)))
	return d
}

func (r *parser) includes() []key.Include {
	n := r.count(4 + 4)
	if n == 0 {
		return nil
	}
	list := r.list(n)
	for i := range list {
		list[i] = key.Include{Name: r.string(), File: r.u32() - 1}
	}
	return list
}

// list returns an empty list, of many that are made at once.
func (r *parser) list(n int) []key.Include {
	if n > len(r.room) {
		r.room = make([]key.Include, max(n, 512))
	}
	list := r.room[:n:n]
	r.room = r.room[n:]
	return list
}

func (r *parser) seen(list []key.File) Read {
	s := Read{Path: r.string(), File: r.u32()}
	flag := r.u32()
	if r.check(s.File >= 0 && s.File < len(list) && flag <= 1, "a path of no file"); r.err != nil {
		return Read{}
	}
	s.Settled = flag == 1
	s.Stamp = files.Stamp{
		Inode: files.Inode{Device: uint64(r.i64()), Number: uint64(r.i64())},
		Size:  list[s.File].Size, Mtime: r.i64(), Ctime: r.i64(),
	}
	return s
}
