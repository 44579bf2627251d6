package manifest

import (
	"crypto/sha256"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/internal/ctime"
	"github.com/kernstash/kernstash/key"
)

// Check looks whether all files and probes are as they were: with one look at each, and
// without reading a file, unless one changed or is so young that a change would not show.
// It names the file that is not as it was, or is new; "" says that there is none. A file that
// was only touched is read and compared by its digest, and renewed says that the manifest now
// holds its new stamp and should be kept anew.
func (m *Manifest) Check() (renewed bool, changed string) { return m.CheckOn(files.OS) }

// CheckOn is Check on another system.
func (m *Manifest) CheckOn(s files.System) (renewed bool, changed string) {
	reads, renewed, changed := m.look(s, true, anywhere)
	if renewed {
		changed = m.renew(reads)
	}
	return renewed && changed == "", changed
}

// Changed looks whether all files and probes are what they were when they were
// tracked, with their stamps: for the end of a build, which may have read a
// file at any moment since then. Files that are so young that a change would
// not show in the stamp are also read. It names the first that changed; ""
// says that none did.
func (m *Manifest) Changed() string { return m.ChangedWhere(anywhere) }

// ChangedWhere is Changed of the paths for which where reports true.
func (m *Manifest) ChangedWhere(where func(path string) bool) string {
	_, _, changed := m.look(files.OS, false, where)
	return changed
}

func anywhere(string) bool { return true }

// ChangedOn is Changed on another system.
func (m *Manifest) ChangedOn(s files.System) string {
	_, _, changed := m.look(s, false, anywhere)
	return changed
}

// look names the first path that leads elsewhere than it did, or, unless they may be touched, to
// a file with another stamp. Else it returns the reads as they are now, and whether some are
// other ones. Paths for which where reports false are not looked at.
func (m *Manifest) look(s files.System, mayBeTouched bool, where func(path string) bool) (reads []Read, renewed bool, changed string) {
	at := time.Now()
	for _, p := range m.probes {
		if where(p.Path) && !p.Holds(s) {
			return nil, false, p.Path
		}
	}
	for i, was := range m.reads {
		if !where(was.Path) {
			continue
		}
		now, same := was.again(s, m.files[was.File].Digest, at)
		if !same || !mayBeTouched && now.Stamp != was.Stamp {
			return nil, false, was.Path
		}
		if now != was && !renewed {
			reads, renewed = slices.Clone(m.reads), true
		}
		if renewed {
			reads[i] = now
		}
	}
	return reads, renewed, ""
}

// again looks at the file anew, not before at; same says that its content has the digest still.
func (r Read) again(s files.System, digest key.Digest, at time.Time) (now Read, same bool) {
	k, st, err := s.Look(r.Path)
	if err != nil || k != files.Regular {
		return r, false
	}
	if st == r.Stamp && r.Settled {
		return r, true
	}
	if st.Size != r.Stamp.Size {
		return r, false
	}
	content, read, err := s.Read(r.Path, st.Size)
	if err != nil || read != st || sha256.Sum256(content) != digest {
		return r, false
	}
	r.Stamp, r.Settled = st, s.Settled(r.Path, st, at)
	return r, true
}

// renew takes new stamps, if files that were one file, or several, still are:
// compilers tell files apart by where they are (#pragma once).
func (m *Manifest) renew(reads []Read) (changed string) {
	inodes := make(map[files.Inode]int) // file by inode
	places := make(map[int]files.Inode) // inode by file
	for _, r := range reads {
		if f, ok := inodes[r.Stamp.Inode]; ok && f != r.File {
			return r.Path
		}
		if at, ok := places[r.File]; ok && at != r.Stamp.Inode {
			return r.Path
		}
		inodes[r.Stamp.Inode], places[r.File] = r.File, r.Stamp.Inode
	}
	m.reads = reads
	return ""
}

// Ways are the directories and symbolic links that lead to what a unit reads and looks
// for, as they were at one moment. A directory that is another one while a compiler runs,
// and is back when it ends, has the same files as before: only the way to it shows it.
// Ways are safe for concurrent use.
type Ways struct {
	at map[string]files.Way
}

// maxLinks is how many links a path may lead over, as for the kernel.
const maxLinks = 40

// Ways looks at the ways to the files and probes of m.
func (m *Manifest) Ways() *Ways {
	w := &Ways{at: make(map[string]files.Way)}
	for _, r := range m.reads {
		w.add(r.Path, maxLinks)
	}
	for _, p := range m.probes {
		w.add(p.Path, maxLinks)
	}
	return w
}

// add looks at each part of a path, and where links lead.
func (w *Ways) add(path string, links int) {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		part := path[:i]
		if _, known := w.at[part]; known {
			continue
		}
		found, _ := files.OS.LookAt(part)
		if found.Kind != files.Link && found.Kind != files.RealDirectory {
			continue // files have stamps of their own
		}
		w.at[part] = found
		if found.Kind != files.Link || links == 0 {
			continue
		}
		target := found.Target
		if !filepath.IsAbs(target) {
			target = files.Parent(part) + "/" + target
		}
		w.add(strings.TrimSuffix(target, "/"), links-1)
	}
}

// Changed names a directory or link that is another, or was for a moment; "" says that
// there is none.
func (w *Ways) Changed() string { return w.ChangedWhere(anywhere) }

// ChangedWhere is Changed of the paths for which where reports true.
func (w *Ways) ChangedWhere(where func(path string) bool) string {
	if w == nil {
		return ""
	}
	for path, was := range w.at {
		if !where(path) {
			continue
		}
		if now, _ := files.OS.LookAt(path); now.ChangedSince(was) {
			return path
		}
	}
	return ""
}

// ChangedAfter names a directory or link that is another since a time, or may be; "" says that
// there is none. It is for a look at the ways that comes late.
func (w *Ways) ChangedAfter(began time.Time) string {
	for path, now := range w.at {
		moved := now.Kind == files.Link || now.Ctime != now.Mtime
		if moved && !ctime.Before(began, path, now.Device, now.Ctime, now.Ctime) {
			return path
		}
	}
	return ""
}
