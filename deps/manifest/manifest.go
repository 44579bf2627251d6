// Package manifest records which files a unit read and which names it looked for and did not find, and
// tells whether they are as they were.
package manifest

import (
	"cmp"
	"slices"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/key"
)

// Placing says how what is built of a unit may depend on the directory in which its main
// source is said to be, beyond the files that are looked for there. It is of CUDA C++:
// other compilers are not told one. Of several units the greatest counts.
type Placing uint8

// The ways to depend on the directory, by their numbers in the encoding.
const (
	Unplaced Placing = iota // it does not
	Called                  // only by code of a header file that gives its caller's path, as a default argument does
	Placed                  // in any way
)

// Manifest holds which files a unit read, or looked for and did not find, with what
// tells cheaply whether they changed. It is not safe for concurrent use.
type Manifest struct {
	dir      string
	placing  Placing
	includes []key.Include
	files    []key.File
	reads    []Read        // by path
	probes   []files.Probe // by path and kind
}

// Read is a path by which a file was read. Several may lead to one file.
type Read struct {
	Path    string
	File    int // index in the manifest's files
	Stamp   files.Stamp
	Settled bool // a later change of the file would show in the stamp
}

// New returns the manifest of a unit, which has what it reads in it, with the paths by
// which its files were read and the probes.
func New(u key.Unit, p Placing, reads []Read, probes []files.Probe) *Manifest {
	slices.SortFunc(reads, compareReads)
	slices.SortFunc(probes, compareProbes)
	return &Manifest{placing: p, dir: u.Dir, includes: u.Includes, files: slices.Clone(u.Files), reads: reads, probes: probes}
}

func compareReads(a, b Read) int { return cmp.Compare(a.Path, b.Path) }

func compareProbes(a, b files.Probe) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind))
}

// Unstamp forgets the stamps: the next Check reads every file, and takes new ones. It is for
// another machine, where the same stamp may be another file's.
func (m *Manifest) Unstamp() {
	for i := range m.reads {
		r := &m.reads[i]
		r.Stamp, r.Settled = files.Stamp{Size: r.Stamp.Size}, false
	}
}

// Portable returns a manifest without what only this machine knows of the files. It is the same
// on all machines that have the same files.
func Portable(b []byte, name key.Digest) ([]byte, error) {
	m, err := Parse(b, name)
	if err != nil {
		return nil, err
	}
	m.Unstamp()
	return m.Append(nil, name), nil
}

// Files returns the files that are read.
func (m *Manifest) Files() []key.File { return m.files }

// Placing returns how what is built may depend on the directory of the main source.
func (m *Manifest) Placing() Placing { return m.placing }

// Before returns u with what it read when m was made, whether that still holds or not.
func (m *Manifest) Before(u key.Unit) key.Unit {
	u.Dir, u.Includes, u.Files = m.dir, m.includes, m.files
	return u
}

// A Look is a path that was looked at, and what was found there.
type Look struct {
	Path   string
	Absent bool // no header file is there; the rest is zero

	Digest            key.Digest // of the content
	Size              int64
	Modified, Changed int64 // nanoseconds since 1970
	Device, Inode     uint64
}

// Looks returns all that a unit reads, and the names that it looks for and does not find, with
// the stamps of the time when they were tracked.
func (m *Manifest) Looks() (all []Look) {
	for _, r := range m.reads {
		all = append(all, Look{
			Path: r.Path, Digest: m.files[r.File].Digest, Size: r.Stamp.Size,
			Modified: r.Stamp.Mtime, Changed: r.Stamp.Ctime, Device: r.Stamp.Device, Inode: r.Stamp.Number,
		})
	}
	for _, p := range m.probes {
		all = append(all, Look{Path: p.Path, Absent: true})
	}
	return all
}
