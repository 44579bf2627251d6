package manifest

import (
	"crypto/sha256"
	"time"

	"github.com/kernstash/kernstash/deps/internal/digest"
	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/key"
)

// Checking looks whether all files and probes are as they were: with one look at each, and
// without reading a file, unless one changed or is so young that a change would not show. It
// goes on while its caller does something else, where there are processors for that.
type Checking struct {
	m  *Manifest
	s  files.System
	at time.Time
	v  *survey
}

// Begin begins to check what the unit u reads; nil: m is of another one. What u reads if
// nothing changed is told by [Manifest.Before].
func (m *Manifest) Begin(u key.Unit) *Checking { return m.BeginOn(files.OS, u) }

// BeginOn is Begin on another system.
func (m *Manifest) BeginOn(s files.System, u key.Unit) *Checking {
	if digest.OfUnit(u) != m.unit {
		return nil
	}
	return &Checking{m: m, s: s, at: time.Now(), v: m.newSurvey(s)}
}

// Close ends a Checking that nobody wants to know the end of; else it does nothing.
func (c *Checking) Close() { c.v.cancel() }

// End names the file that is not as it was, or is new; "" says that there is none. A file that
// was only touched is read and compared by its digest, and renewed says that the manifest now
// holds its new stamp and should be kept anew. End is called once.
func (c *Checking) End() (renewed bool, changed string) {
	c.v.end(c.s)
	if changed := c.m.checkProbes(c.s, c.v); changed != "" {
		return false, changed
	}
	var renewals map[int]Read
	for i := range c.m.reads {
		if c.v.read(i) {
			continue
		}
		was := &c.m.reads[i]
		now, same := was.again(c.s, c.m.files[was.File].Digest, c.at)
		if !same {
			return false, was.Path
		}
		if now != *was {
			if renewals == nil {
				renewals = make(map[int]Read)
			}
			renewals[i] = now
		}
	}
	if len(renewals) > 0 {
		if changed := c.m.renew(renewals); changed != "" {
			return false, changed
		}
	}
	return len(renewals) > 0, ""
}

// checkProbes returns the first path that leads elsewhere than it did.
func (m *Manifest) checkProbes(s files.System, v *survey) string {
	for i, p := range m.probes {
		if !v.probe(i) && !p.Holds(s) {
			return p.Path
		}
	}
	return ""
}

// again looks at the file anew, not before the time at. same says that its content is
// still what the digest is of.
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
func (m *Manifest) renew(renewals map[int]Read) (changed string) {
	inodes := make(map[files.Inode]int) // file by inode
	places := make(map[int]files.Inode) // inode by file
	reads := make([]Read, len(m.reads))
	for i, r := range m.reads {
		if now, ok := renewals[i]; ok {
			r = now
		}
		reads[i] = r
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

// Changed looks whether all files and probes are what they were when they were
// tracked, with their stamps: for the end of a build, which may have read a
// file at any moment since then. Files that are so young that a change would
// not show in the stamp are also read. It names the first that changed; ""
// says that none did.
func (m *Manifest) Changed() string { return m.ChangedOn(files.OS) }

// ChangedOn is Changed on another system.
func (m *Manifest) ChangedOn(s files.System) string {
	at, v := time.Now(), m.newSurvey(s)
	defer v.cancel()
	v.end(s)
	if changed := m.checkProbes(s, v); changed != "" {
		return changed
	}
	for i := range m.reads {
		if v.read(i) {
			continue
		}
		r := &m.reads[i]
		now, same := r.again(s, m.files[r.File].Digest, at)
		if !same || now.Stamp != r.Stamp {
			return r.Path
		}
	}
	return ""
}
