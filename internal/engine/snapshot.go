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
	s       *Session
	devices [][]int // of each group
	res     *Resolution
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
	if slices.ContainsFunc(res.groups, func(r *headers.Set) bool { return !r.Uncacheable.None() }) {
		return nil
	}
	return &Snapshot{s, s.groups(id.Devices), res}
}

// Units returns the units with the files that they read for a device, by its ordinal;
// nil for a device that was not asked for. The caller must not change them.
func (s *Snapshot) Units(device int) []key.Unit {
	for i, devices := range s.devices {
		if slices.Contains(devices, device) {
			return s.res.groups[i].Image.Units()
		}
	}
	return nil
}

// Changed names a header file that is not what it was, or is new, or "the working
// directory"; "" says that nothing changed. It takes one look at each file.
func (s *Snapshot) Changed() string {
	for _, r := range s.res.groups {
		if changed := s.s.changed(r); changed != "" {
			return changed
		}
	}
	return ""
}

// readCompiled returns what an image of compiled units reads on a device.
func (m *Image) readCompiled(device int) *headers.Set {
	compiled := slices.Clone(m.files.compiled(device))
	var units []key.Unit
	for i, u := range m.Units() {
		if m.files.reads[i] {
			at := slices.IndexFunc(compiled, func(c key.Unit) bool { return isOfCode(c, u) })
			if at < 0 {
				return unknownHeaders("units that were compiled of other code")
			}
			u = compiled[at]
			// Units of one code may have read different files; all of them count.
			compiled = slices.Delete(compiled, at, at+1)
		}
		units = append(units, u)
	}
	set := &headers.Set{Located: slices.ContainsFunc(units, func(u key.Unit) bool { return u.Dir != "" })}
	var err error
	if set.Image, err = m.Tracked(units); err != nil {
		return unknownHeaders(err.Error())
	}
	return set
}

// isOfCode reports whether two units are of the same code and headers.
func isOfCode(a, b key.Unit) bool {
	equal := func(a, b key.Header) bool { return a.Name == b.Name && bytes.Equal(a.Content, b.Content) }
	return a.Kind == b.Kind && bytes.Equal(a.Code, b.Code) && slices.EqualFunc(a.Headers, b.Headers, equal)
}
