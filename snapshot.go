package kernstash

import (
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
)

// Snapshot is what the units of one request read, as it was when the request was
// asked for: for a door whose application has units compiled each, and links them
// later, when a header file may be another. It does not change, and is safe for
// concurrent use.
type Snapshot struct{ s *engine.Snapshot }

// Snapshot returns what a request was found to read. Nil: it reads no header
// files, or was not asked for with this very Image, or cannot be cached.
func (x *Context[P, K]) Snapshot(r Request) *Snapshot {
	if s := x.session.Snapshot(r.engine()); s != nil {
		return &Snapshot{s}
	}
	return nil
}

// Units returns the units with the files that they read for a device, by its
// ordinal in the context; nil for a device that was not asked for. The caller must
// not change them.
func (s *Snapshot) Units(device int) []key.Unit { return s.s.Units(device) }

// Changed names a header file that is not what it was, or is new, or "the working
// directory"; "" says that nothing changed. It takes one look at each file.
func (s *Snapshot) Changed() string { return s.s.Changed() }

// NewCompiledImage returns the image of units that are compiled each and linked in
// this order, as for NewImageSequence, some of which were compiled before: these mean
// the header files that they read then, whatever is on disk now. compiled returns them
// for a device of the context that is asked, as a Snapshot has them, in the same order;
// it is called for each request, and keeps what it returns. For a device where the two
// do not fit the image is uncacheable.
func NewCompiledImage(compiled func(device int) []key.Unit, units ...key.Unit) (*Image, error) {
	m, err := NewImageSequence(units...)
	if err == nil {
		m.scanned = engine.NewCompiledImage(m.Image, compiled)
		m.scanned.Owner = m
	}
	return m, err
}
