package engine

import (
	"bytes"
	"slices"

	"github.com/kernstash/kernstash/internal/engine/headers"
	"github.com/kernstash/kernstash/key"
)

// Snapshot is what the units of one request read, as it was when the request was asked
// for. It does not change, and is safe for concurrent use.
type Snapshot struct {
	s        *Session
	byDevice []*reading
}

// Snapshot returns what a request was found to read. Nil: it reads no header files, or
// was not asked for with this very Image, or cannot be cached. It comes after what is
// built was stored: contents of header files that are still in memory go.
func (s *Session) Snapshot(r Request) *Snapshot {
	id, err := s.ID(&r)
	if err != nil || r.Image.files == nil || r.Image.files.compiled != nil {
		return nil
	}
	res := s.Resolved(&id, r.Image)
	if res == nil {
		return nil
	}
	res.Forget()
	all := &Snapshot{s: s, byDevice: make([]*reading, s.host.Devices())}
	for i, devices := range s.groups(id.Devices) {
		r := res.group(i)
		if !r.uncacheable.None() {
			return nil
		}
		for _, d := range devices {
			all.byDevice[d] = r
		}
	}
	return all
}

// Units returns the units with the files that they read for a device, by its ordinal;
// nil for a device that was not asked for. The caller must not change them.
func (s *Snapshot) Units(device int) []key.Unit {
	if device < 0 || device >= len(s.byDevice) || s.byDevice[device] == nil {
		return nil
	}
	return s.byDevice[device].set.Image.Units()
}

// Changed names a header file that is not what it was, or is new, or "the working
// directory"; "" says that nothing changed. It takes one look at each file.
func (s *Snapshot) Changed() string {
	seen := make(map[*reading]bool, 1)
	for _, r := range s.byDevice {
		if r == nil || seen[r] {
			continue
		}
		seen[r] = true
		if changed := s.s.changed(r); changed != "" {
			return changed
		}
	}
	return ""
}

// errUnits says why units cannot be keyed.
const errUnits = "units that were compiled of other code"

// readCompiled returns what an image of compiled units reads on a device.
func (m *Image) readCompiled(device int) *reading {
	compiled := m.files.compiled(device)
	var units []key.Unit
	used := make([]bool, len(compiled))
	for i, u := range m.Units() {
		if m.files.reads[i] {
			at := indexOfUnit(compiled, used, u)
			if at < 0 {
				return unknownHeaders(errUnits)
			}
			used[at] = true
			u = compiled[at]
		}
		units = append(units, u)
	}
	set := new(headers.Set)
	for _, u := range units {
		set.Located = set.Located || u.Dir != ""
	}
	var err error
	if set.Image, err = m.Tracked(units); err != nil {
		return unknownHeaders(err.Error())
	}
	return &reading{set: set, compiled: true}
}

// indexOfUnit returns the first unit of the same code that was not used; -1: there is
// none. Units of one code may have read different files; all of them count.
func indexOfUnit(compiled []key.Unit, used []bool, u key.Unit) int {
	for i, c := range compiled {
		if !used[i] && c.Kind == u.Kind && bytes.Equal(c.Code, u.Code) && slices.EqualFunc(c.Headers, u.Headers, equalHeaders) {
			return i
		}
	}
	return -1
}

func equalHeaders(a, b key.Header) bool { return a.Name == b.Name && bytes.Equal(a.Content, b.Content) }
