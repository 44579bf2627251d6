package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/internal/wire"
	"github.com/kernstash/kernstash/key"
)

// The encoding is specified in docs/FORMAT.md, "Manifest".
const (
	magic = "kstdeps\n"
	// Version is the version of the encoding. First keys have it, too.
	Version = 3
	// maxBytes is the largest encoding that is read.
	maxBytes = 64 << 20
)

// ErrInvalid is wrapped when bytes are no manifest of this version.
var ErrInvalid = errors.New("not a manifest of this version")

// Append appends the encoding of m to b, under a name (see deps.FirstKey): its digest
// is over the name too, so what is kept under another is no manifest.
func (m *Manifest) Append(b []byte, name key.Digest) []byte {
	start := len(b)
	b = append(b, magic...)
	b = appendU32(b, Version)
	b = appendU32(b, int(m.placing))
	b = wire.AppendText(b, m.dir)
	b = appendIncludes(b, m.includes)
	b = appendU32(b, len(m.files))
	for _, f := range m.files {
		b = append(b, f.Digest[:]...)
		b = binary.LittleEndian.AppendUint64(b, uint64(f.Size))
		b = wire.AppendText(b, f.Path)
		b = appendIncludes(b, f.Includes)
	}
	b = appendU32(b, len(m.reads))
	for _, r := range m.reads {
		b = wire.AppendText(b, r.Path)
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
		b = wire.AppendText(b, p.Path)
		b = appendU32(b, int(p.Kind))
	}
	sum := namedSum(b[start:], name)
	return append(b, sum[:]...)
}

// namedSum returns the digest of an encoding and its name.
func namedSum(b []byte, name key.Digest) (sum key.Digest) {
	h := sha256.New()
	h.Write([]byte("kernstash manifest\x00"))
	h.Write(name[:])
	h.Write(b)
	return key.Digest(h.Sum(nil))
}

func appendU32(b []byte, n int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(n)) }

func appendIncludes(b []byte, list []key.Include) []byte {
	b = appendU32(b, len(list))
	for _, i := range list {
		b = appendU32(wire.AppendText(b, i.Name), i.File+1)
	}
	return b
}

// Parse reads what Append wrote under a name; an error wraps [ErrInvalid]. The manifest's texts
// lie in b, which must not be changed.
func Parse(b []byte, name key.Digest) (*Manifest, error) {
	m, err := parse(b, name)
	if err != nil {
		return nil, fmt.Errorf("parse manifest: %w: %w", ErrInvalid, err)
	}
	return m, nil
}

func parse(b []byte, name key.Digest) (*Manifest, error) {
	end := len(b) - sha256.Size
	if end < 0 || len(b) > maxBytes {
		return nil, fmt.Errorf("%d bytes", len(b))
	}
	if sum := namedSum(b[:end], name); !bytes.Equal(sum[:], b[end:]) {
		return nil, errors.New("its digest is wrong")
	}
	r := reader{wire.NewReader(b[:end])}
	if string(r.Take(uint64(len(magic)))) != magic || r.U32() != Version {
		return nil, errors.New("another magic or version")
	}
	placing := r.U32()
	r.check(placing <= uint32(Placed), "an unknown placing")
	m := &Manifest{placing: Placing(placing), dir: r.Text(), includes: r.includes()}
	m.files = make([]key.File, r.count(32+8+4+4))
	for i := range m.files {
		m.files[i] = key.File{Digest: r.Digest(), Size: int64(r.U64()), Path: r.Text(), Includes: r.includes()}
		r.check(m.files[i].Size >= 0, "a size below 0")
	}
	m.reads = make([]Read, r.count(4+4+4+4*8))
	for i := range m.reads {
		m.reads[i] = r.read(m.files)
		r.check(i == 0 || compareReads(m.reads[i-1], m.reads[i]) < 0, "paths out of order")
	}
	m.probes = make([]files.Probe, r.count(4+4))
	for i := range m.probes {
		path, k := r.Text(), r.U32()
		r.check(k <= uint32(files.RealDirectory), "a probe of an unknown kind")
		m.probes[i] = files.Probe{Path: path, Kind: files.Kind(k)}
		r.check(i == 0 || compareProbes(m.probes[i-1], m.probes[i]) < 0, "probes out of order")
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	return m, m.validate()
}

// validate makes sure that the parts belong together: every line leads to a
// file, every file is led to, in order, and was read by the path it has.
func (m *Manifest) validate() error {
	if err := m.Before(key.Unit{}).CheckFiles(); err != nil {
		return err
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

type reader struct{ *wire.Reader }

func (r reader) check(ok bool, otherwise string) {
	if !ok {
		r.Fail("%s", otherwise)
	}
}

// count reads the number of elements, of which each takes at least size bytes.
func (r reader) count(size int) int { return r.Count(uint64(r.U32()), size) }

func (r reader) includes() []key.Include {
	n := r.count(4 + 4)
	if n == 0 {
		return nil
	}
	list := make([]key.Include, n)
	for i := range list {
		list[i] = key.Include{Name: r.Text(), File: int(r.U32()) - 1}
	}
	return list
}

func (r reader) read(list []key.File) Read {
	s := Read{Path: r.Text(), File: int(r.U32())}
	flag := r.U32()
	if s.File >= len(list) || flag > 1 {
		r.Fail("a path of no file")
		return Read{}
	}
	s.Settled = flag == 1
	s.Stamp = files.Stamp{
		Inode: files.Inode{Device: r.U64(), Number: r.U64()},
		Size:  list[s.File].Size, Mtime: int64(r.U64()), Ctime: int64(r.U64()),
	}
	return s
}
