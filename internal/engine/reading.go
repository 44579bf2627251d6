package engine

import (
	"bytes"
	"runtime"
	"slices"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/engine/headers"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
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

// changed names what is not as it was when the files were found, "" if nothing; look looks at them.
func (s *Session) changed(set *headers.Set, look func(*headers.Set) string) string {
	if !set.Follows() {
		return ""
	}
	if dir, err := s.host.WorkingDirectory(); err != nil || dir != set.Search.Dir {
		return "the working directory"
	}
	return look(set)
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

// headerSearch is Host.HeaderSearch with the working directory set.
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
		if changed := s.s.changed(r, (*headers.Set).Changed); changed != "" {
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
