package kernstash

import (
	"bytes"
	"slices"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// Snapshot is what the units of one request read, as it was when the request was
// asked for: for a door whose application has units compiled each, and links them
// later, when a header file may be another. It does not change, and is safe for
// concurrent use.
type Snapshot struct {
	tracked []*tracked // by device
}

// Snapshot returns what a request was found to read. Nil: it reads no header
// files, or was not asked for with this very Image, or cannot be cached.
func (x *Context[P, K]) Snapshot(r Request) *Snapshot {
	id, err := r.id(x.rt.Devices())
	if err != nil || r.Image.files == nil || r.Image.files.fixed != nil {
		return nil
	}
	res := x.resolved(&id, r.Image)
	if res == nil {
		return nil
	}
	s := &Snapshot{tracked: make([]*tracked, x.rt.Devices())}
	for i, devices := range x.groups(id.Devices) {
		t := res.group(i)
		if !t.against.None() {
			return nil
		}
		for _, d := range devices {
			s.tracked[d] = t
		}
	}
	return s
}

// Units returns the units with the files that they read for a device, by its
// ordinal in the context; nil for a device that was not asked for. The caller must
// not change them.
func (s *Snapshot) Units(device int) []key.Unit {
	if device < 0 || device >= len(s.tracked) || s.tracked[device] == nil {
		return nil
	}
	return s.tracked[device].image.Units()
}

// Changed names a header file that is not what it was, or is new, or "the working
// directory"; "" says that nothing changed. It takes one look at each file.
func (s *Snapshot) Changed() string {
	seen := make(map[*tracked]bool, 1)
	for _, t := range s.tracked {
		if t == nil || seen[t] {
			continue
		}
		seen[t] = true
		if changed := t.changed(); changed != "" {
			return changed
		}
	}
	return ""
}

// NewCompiledImage returns the image of units that are compiled each and linked in
// this order, as for NewImageSequence, some of which were compiled before: these mean
// the header files that they read then, whatever is on disk now. compiled returns them
// for a device of the context that is asked, as a Snapshot has them, in the same order;
// it is called for each request, and keeps what it returns. For a device where the two
// do not fit the image is uncacheable.
func NewCompiledImage(compiled func(device int) []key.Unit, units ...key.Unit) (*Image, error) {
	m, err := NewImageSequence(units...)
	if err == nil && m.files != nil {
		m.files.fixed = compiled
	}
	return m, err
}

// errUnits says why units cannot be keyed.
const errUnits = "units that were compiled of other code"

// trackedThen is what an image of compiled units reads on a device.
func (m *Image) trackedThen(device int) *tracked {
	compiled := m.files.fixed(device)
	var units []key.Unit
	used := make([]bool, len(compiled))
	for i, u := range m.Units() {
		if m.files.reads[i] {
			at := indexOfUnit(compiled, used, u)
			if at < 0 {
				return &tracked{against: deps.Reason{Code: reason.NotCacheableHeaders, Detail: errUnits}}
			}
			used[at] = true
			u = compiled[at]
		}
		units = append(units, u)
	}
	t := &tracked{fixed: true}
	for _, u := range units {
		t.located = t.located || u.Dir != ""
	}
	var err error
	if t.image, err = m.Image.Tracked(units); err != nil {
		return &tracked{against: deps.Reason{Code: reason.NotCacheableHeaders, Detail: err.Error()}}
	}
	return t
}

// indexOfUnit returns the first unit of the same code that was not used; -1: there
// is none. Units of one code may have read different files; all of them count.
func indexOfUnit(compiled []key.Unit, used []bool, u key.Unit) int {
	for i, c := range compiled {
		if !used[i] && c.Kind == u.Kind && bytes.Equal(c.Code, u.Code) && slices.EqualFunc(c.Headers, u.Headers, equalHeaders) {
			return i
		}
	}
	return -1
}

func equalHeaders(a, b key.Header) bool { return a.Name == b.Name && bytes.Equal(a.Content, b.Content) }
