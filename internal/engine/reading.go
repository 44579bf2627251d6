package engine

import (
	"runtime"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/engine/headers"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// reading is what an image that reads header files reads on one group of equal devices.
// It does not change once it is made.
type reading struct {
	uncacheable reason.Uncacheable // why that cannot be known
	set         *headers.Set       // nil where it cannot
	what        key.Digest         // the request's, and the files'
	compiled    bool               // as of when its units were compiled; see NewCompiledImage
}

func unknownHeaders(detail string) *reading {
	return &reading{uncacheable: reason.Uncacheable{Code: reason.NotCacheableHeaders, Detail: detail}}
}

// follows returns what is looked at while it is built; nil: nothing.
func (r *reading) follows() *headers.Set {
	if r == nil || r.compiled {
		return nil
	}
	return r.set
}

// changed names what is not as it was when the files were found, "" if nothing.
func (s *Session) changed(r *reading) string {
	set := r.follows()
	if set == nil {
		return ""
	}
	if dir, err := s.host.WorkingDirectory(); err != nil || dir != set.Search.Dir {
		return "the working directory"
	}
	return set.Changed()
}

// watch notes the ways to what is read, before it is built.
func (r *reading) watch() {
	if set := r.follows(); set != nil {
		set.Watch()
	}
}

// take returns the contents of header files that are at hand, once, and which of all
// were kept before.
func (r *reading) take() (contents map[key.Digest][]byte, kept map[key.Digest]bool) {
	if r == nil || r.set == nil {
		return nil, nil
	}
	return r.set.Take(), r.set.Kept()
}

// keepHeaders has the contents of header files written while the compiler is busy, on
// another processor: a process may end soon after, and its artifact should not have to
// wait for a thousand files.
func (e *Engine) keepHeaders(r *reading) {
	mode := e.settings.Mode
	if r == nil || r.set == nil || !e.Writes() || mode != settings.ModeOn && mode != settings.ModeRefresh ||
		e.settings.MinBuildTime > 0 || runtime.GOMAXPROCS(0) == 1 {
		return
	}
	if contents := r.set.TakeToKeep(); len(contents) > 0 {
		e.keeper.AddHeaders(contents)
	}
}

// headerSearch returns where a device's compiler looks for the header files of a
// request in a working directory.
func (s *Session) headerSearch(device int, dir string, r Request) (deps.Search, error) {
	search, err := s.host.HeaderSearch(device, dir, r)
	search.Dir = dir
	return search, err
}

// read finds what the units of an image read, which looks at files. m is what the
// request means but for them. Without scan it is told by manifests alone: nil where they
// do not tell.
func (s *Session) read(devices []int, r Request, m meaning, scan bool) *reading {
	switch {
	case !m.uncacheable.None():
		return &reading{uncacheable: m.uncacheable}
	case r.Image.files.compiled != nil:
		return r.Image.readCompiled(devices[0])
	}
	dir, err := s.host.WorkingDirectory()
	var search deps.Search
	if err == nil {
		search, err = s.headerSearch(devices[0], dir, r)
	}
	if err != nil {
		return unknownHeaders(err.Error())
	}
	set, why := s.e.finder.Find(headers.Query{
		Image: r.Image.Image, Reads: r.Image.files.reads,
		Device: m.recipe.Device.Digest(), Words: m.recipe.Options.Compile, Search: search,
	}, scan)
	if set == nil && why.None() {
		return nil
	}
	return &reading{uncacheable: why, set: set}
}
