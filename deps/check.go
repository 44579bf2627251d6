package deps

import (
	"crypto/sha256"
	"time"

	"github.com/kernstash/kernstash/key"
)

// Check looks whether all files and probes are as they were: with one look at
// each, and without reading a file, unless one changed or is so young that a
// change would not show. Then it returns the unit u with what it reads, which
// the caller must not change. changed names the file that is not as it was, or
// is new; else it is "". A file that was only touched is read and compared by
// its digest, and renewed says that m now holds its new stamp and should be
// kept anew.
func (m *Manifest) Check(u key.Unit) (tracked key.Unit, renewed bool, changed string) {
	return m.check(osSystem, u)
}

func (m *Manifest) check(s system, u key.Unit) (tracked key.Unit, renewed bool, changed string) {
	if unitDigest(u) != m.Unit {
		return key.Unit{}, false, "the source"
	}
	c := m.begin(s)
	defer c.Close()
	renewed, changed = c.End()
	if changed != "" {
		return key.Unit{}, false, changed
	}
	return m.unit(u), renewed, ""
}

// Checking is a Check that goes on while its caller does something else, where there are
// processors for that.
type Checking struct {
	m  *Manifest
	s  system
	at time.Time
	v  *survey
}

// Begin begins a Check of the unit u; nil: m is of another one. What u reads if nothing
// changed is told by [Manifest.Before].
func (m *Manifest) Begin(u key.Unit) *Checking {
	if unitDigest(u) != m.Unit {
		return nil
	}
	return m.begin(osSystem)
}

func (m *Manifest) begin(s system) *Checking {
	return &Checking{m: m, s: s, at: time.Now(), v: m.newSurvey(s)}
}

// Close ends a Checking that nobody wants to know the end of; else it does nothing.
func (c *Checking) Close() { c.v.cancel() }

// End returns what Check does. It is called once.
func (c *Checking) End() (renewed bool, changed string) {
	c.v.end(c.s)
	if changed := c.m.checkProbes(c.s, c.v); changed != "" {
		return false, changed
	}
	var renewals map[int]seen
	for i := range c.m.reads {
		if c.v.read(i) {
			continue
		}
		was := &c.m.reads[i]
		now, same := was.again(c.s, c.m.files[was.file].Digest, c.at)
		if !same {
			return false, was.Path
		}
		if now != *was {
			if renewals == nil {
				renewals = make(map[int]seen)
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
func (m *Manifest) checkProbes(s system, v *survey) string {
	for i, p := range m.probes {
		if !v.probe(i) && !p.holds(s) {
			return p.Path
		}
	}
	return ""
}

// again looks at the file anew, not before the time at. same says that its content is
// still what the digest is of.
func (r seen) again(s system, digest key.Digest, at time.Time) (now seen, same bool) {
	k, st, err := s.look(r.Path)
	if err != nil || k != regular {
		return r, false
	}
	if st == r.stamp && r.settled {
		return r, true
	}
	if st.size != r.stamp.size {
		return r, false
	}
	content, read, err := s.read(r.Path, st.size)
	if err != nil || read != st || sha256.Sum256(content) != digest {
		return r, false
	}
	r.stamp, r.settled = st, s.settled(r.Path, st, at)
	return r, true
}

// renew takes new stamps, if files that were one file, or several, still are:
// compilers tell files apart by where they are (#pragma once).
func (m *Manifest) renew(renewals map[int]seen) (changed string) {
	inodes := make(map[inode]int) // file by inode
	places := make(map[int]inode) // inode by file
	reads := make([]seen, len(m.reads))
	for i, r := range m.reads {
		if now, ok := renewals[i]; ok {
			r = now
		}
		reads[i] = r
		if f, ok := inodes[r.stamp.inode]; ok && f != r.file {
			return r.Path
		}
		if at, ok := places[r.file]; ok && at != r.stamp.inode {
			return r.Path
		}
		inodes[r.stamp.inode], places[r.file] = r.file, r.stamp.inode
	}
	m.reads = reads
	return ""
}

// Changed looks whether all files and probes are what they were when they were
// tracked, with their stamps: for the end of a build, which may have read a
// file at any moment since then. Files that are so young that a change would
// not show in the stamp are also read. It names the first that changed; ""
// says that none did.
func (m *Manifest) Changed() string { return m.changed(osSystem) }

func (m *Manifest) changed(s system) string {
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
		now, same := r.again(s, m.files[r.file].Digest, at)
		if !same || now.stamp != r.stamp {
			return r.Path
		}
	}
	return ""
}
