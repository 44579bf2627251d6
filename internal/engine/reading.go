package engine

import (
	"runtime"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/engine/headers"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/reason"
)

// unknownHeaders is what an image reads of which that cannot be known.
func unknownHeaders(detail string) *headers.Set {
	return &headers.Set{Uncacheable: againstHeaders(detail)}
}

// againstHeaders says that what an image reads cannot be known.
func againstHeaders(detail string) reason.Uncacheable {
	return reason.Uncacheable{Code: reason.NotCacheableHeaders, Detail: detail}
}

// changed names what is not as it was when the files were found, "" if nothing.
func (s *Session) changed(set *headers.Set) string {
	if !set.Follows() {
		return ""
	}
	if dir, err := s.host.WorkingDirectory(); err != nil || dir != set.Search.Dir {
		return "the working directory"
	}
	return set.Changed()
}

// keepHeaders has the contents of header files written while the compiler is busy, on
// another processor: a process may end soon after, and its artifact should not have to
// wait for a thousand files.
func (e *Engine) keepHeaders(set *headers.Set) {
	mode := e.settings.Mode
	if set == nil || !e.Writes() || mode != settings.ModeOn && mode != settings.ModeRefresh ||
		e.settings.MinBuildTime > 0 || runtime.GOMAXPROCS(0) == 1 {
		return
	}
	if contents := set.TakeToKeep(); len(contents) > 0 {
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
func (s *Session) read(devices []int, r Request, m meaning, scan bool) *headers.Set {
	switch {
	case !m.uncacheable.None():
		return &headers.Set{Uncacheable: m.uncacheable}
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
	return s.e.finder.Find(headers.Query{
		Image: r.Image.Image, Reads: r.Image.files.reads,
		Device: m.recipe.Device.Digest(), Words: m.recipe.Options.Compile, Search: search,
	}, scan)
}
