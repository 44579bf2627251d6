package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/internal/engine/headers"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// meaning is what a request means for a group of devices, and why it is not to be stored.
type meaning struct {
	recipe      *key.Recipe
	uncacheable reason.Uncacheable
}

// mean works out what a request means for a group of devices, but for its header files.
func (s *Session) mean(devices []int, r Request) (meaning, error) {
	constants, err := key.NewConstants(r.Constants...)
	if err != nil {
		return meaning{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	id := s.identities()[devices[0]]
	rec := &key.Recipe{
		Device:    id.device,
		Image:     r.Image.Image,
		Constants: constants,
		Options:   s.buildOptions(r),
	}
	var unsure, judged error
	rec.Options.Attributes, rec.Options.Unkeyed = keyedAttributes(r, nil)
	rec.Options.Variables, unsure = s.host.Variables(devices[0])
	if id.err == nil {
		judged = s.host.CheckOptions(devices[0], rec.Options.Compile)
	}
	if unsure == nil && !r.Image.isOpaque() && !s.host.DefaultArithmetic() {
		unsure = errors.New("arithmetic in a mode that is not the default, in which a compiler folds constants")
	}
	why := uncacheable(s.e.settings, r.Image, rec.Options)
	if errors.Is(id.err, errDisabled) {
		off := reason.Uncacheable{Code: reason.MissTierOff, Detail: errDisabled.Error()}
		return meaning{rec, cmp.Or(why, off)}, nil
	}
	if err := cmp.Or(id.err, unsure, judged); err != nil {
		return meaning{rec, reason.Uncacheable{Code: reason.NotCacheableRuntime, Detail: err.Error()}}, nil
	}
	if why.None() && r.Image.hasHeaders() {
		why = s.shadowed(devices[0], r)
	}
	if why.None() && r.Image.files == nil {
		why, err = s.meanWithoutFiles(rec)
	}
	return meaning{rec, why}, err
}

// with returns the meaning m of a request that was found to read what rd says.
func (m meaning) with(r Request, rd *headers.Set) meaning {
	rec := *m.recipe
	rec.Options.Attributes, rec.Options.Unkeyed = keyedAttributes(r, rd)
	m.recipe = &rec
	if m.uncacheable = cmp.Or(m.uncacheable, rd.Uncacheable); !m.uncacheable.None() {
		return m
	}
	if check := r.Image.CheckFiles; check != nil {
		if err := rd.Check(check); err != nil {
			m.uncacheable = againstHeaders(err.Error())
			return m
		}
	}
	rec.Image = rd.Image
	if !rd.Located {
		rec.Options.Compile, rec.Options.Search = flags.SplitSearch(rec.Options.Compile)
	}
	return m
}

// keyedAttributes returns which attributes of a request are in the key, and which are
// not; rd may be nil. Of CUDA C++ that reads files, how what is built depends on the
// directory of the main source decides about that; what else the request has in the
// key is in it.
func keyedAttributes(r Request, rd *headers.Set) (in, out []key.Pair) {
	in, out = key.SortAttributes(r.Attributes), slices.Clone(r.Unkeyed)
	if rd == nil || slices.ContainsFunc(r.Image.Units(), func(u key.Unit) bool { return u.Kind != key.CUDACpp }) {
		return in, key.SortAttributes(out)
	}
	_, random := key.Attribute(in, deps.SourceParent)
	if rd.Times != "" {
		in = key.SortAttributes(append(in, key.Pair{Name: deps.HeaderTimes, Value: rd.Times}))
	}
	byParent := rd.Placing == manifest.Called && random
	all := in
	in = nil
	for _, a := range all {
		switch {
		case a.Name == deps.SourceDirectory && (byParent || rd.Placing == manifest.Unplaced):
			out = append(out, a)
		case a.Name != deps.SourceParent || byParent:
			in = append(in, a)
		}
	}
	return in, key.SortAttributes(out)
}

// shadowed reports a header in memory whose name is also a file's where the compiler
// may look first: in PoCL's cache directory, where it has the source.
func (s *Session) shadowed(device int, r Request) reason.Uncacheable {
	units := r.Image.Units()
	if !slices.ContainsFunc(units, isOpenCLC) {
		return reason.Uncacheable{} // compilers at run time take headers in memory first
	}
	dir, err := s.host.WorkingDirectory()
	if err != nil {
		return againstHeaders(err.Error())
	}
	search, err := s.headerSearch(device, dir, r)
	if err != nil {
		return reason.Uncacheable{} // the working directory was looked at when the image was made
	}
	dirs := slices.Concat([]string{search.Main, dir}, search.First, search.Last, search.System)
	if header, at := deps.Shadow(units, dirs); header != "" {
		return againstHeaders(fmt.Sprintf("header %q is also a file in %s", header, at))
	}
	return reason.Uncacheable{}
}

func isOpenCLC(u key.Unit) bool { return u.Kind == key.OpenCLC }

// meanWithoutFiles makes of the recipe of an image that reads no file what it means:
// where it searches for files does not count then, and where it is built only if the
// options say so.
func (s *Session) meanWithoutFiles(rec *key.Recipe) (reason.Uncacheable, error) {
	units := rec.Image.Units()
	if !slices.ContainsFunc(units, isOpenCLC) {
		return reason.Uncacheable{}, nil // front ends of other sources know what their compilers do
	}
	words := rec.Options.Compile
	if w := flags.NamedPath(words); w != "" {
		return reason.Uncacheable{Code: reason.NotCacheableOptions, Detail: w}, nil
	}
	if !flags.KeepPaths(words, false) {
		rec.Options.Compile, rec.Options.Search = flags.SplitSearch(words)
		return reason.Uncacheable{}, nil
	}
	dir, err := s.host.WorkingDirectory()
	if err != nil || len(units) > 1 || rec.Image.IsSequence() {
		return reason.Uncacheable{Code: reason.NotCacheableOptions, Detail: "debug information of what is linked"}, nil
	}
	rec.Image, err = rec.Image.Tracked([]key.Unit{{Kind: units[0].Kind, Code: units[0].Code, Headers: units[0].Headers, Dir: dir}})
	return reason.Uncacheable{}, err
}

// buildOptions returns the options of a request: those of the image and of the request
// unless the operator replaces them, then what the operator appends.
func (s *Session) buildOptions(r Request) key.BuildOptions {
	set := s.e.settings
	if s.options.OptionsAsGiven {
		set = &settings.Settings{}
	}
	words := func(override *string, image, request, appended string) []string {
		w := append(key.Tokens(image), key.Tokens(request)...)
		if override != nil {
			w = key.Tokens(*override)
		}
		return append(w, key.Tokens(appended)...)
	}
	o := key.BuildOptions{
		Compile: words(set.CompileOptions, r.ImageCompileOptions, r.CompileOptions, set.AppendCompileOptions),
		Link:    words(set.LinkOptions, r.ImageLinkOptions, r.LinkOptions, set.AppendLinkOptions),
	}
	o.Absent = r.NoOptions && len(o.Compile) == 0
	o.LinkAbsent = r.NoLinkOptions && len(o.Link) == 0
	return o
}

// uncacheable says what speaks against storing a build: the one rule set for all front
// ends. When in doubt, it is not stored.
func uncacheable(set *settings.Settings, m *Image, o key.BuildOptions) reason.Uncacheable {
	if !m.uncacheable.None() {
		return m.uncacheable
	}
	if m.files != nil && set.Disable {
		return againstHeaders("header files are not looked at: the cache is off")
	}
	if why := uncacheableOptions(m, o); !why.None() {
		return why
	}
	if n := m.Size(); n < set.MinDeviceImageSize || set.MaxDeviceImageSize > 0 && n > set.MaxDeviceImageSize {
		return reason.Uncacheable{Code: reason.NotCacheableSize, Detail: fmt.Sprintf("%d bytes", n)}
	}
	return reason.Uncacheable{}
}

// uncacheableOptions says what in the options speaks against storing a build. The
// options of a compiler of the caller's own are its own affair.
func uncacheableOptions(m *Image, o key.BuildOptions) reason.Uncacheable {
	if m.isOpaque() {
		return reason.Uncacheable{}
	}
	all := [][]string{o.Compile, o.Link}
	for _, v := range o.Variables {
		words := key.Tokens(v.Value) // some hold options
		if m.files != nil && slices.ContainsFunc(words, isOption) {
			return againstHeaders("header files, and options in the variable " + v.Name)
		}
		all = append(all, words)
	}
	for i, words := range all {
		why, readsPath := flags.Scan(words)
		if !why.None() {
			return why
		}
		if readsPath && m.files != nil && i > 0 {
			return againstHeaders("header files, and directories to search that are no compile options")
		}
		if readsPath && m.hasHeaders() {
			return againstHeaders("headers in memory beside directories to search")
		}
	}
	return reason.Uncacheable{}
}

// isOption reports whether a word of a variable's value may be an option: it may name
// directories, or define a macro that an include is made of.
func isOption(word string) bool {
	word = strings.TrimLeft(word, "\"'\\ \t")
	return len(word) > 1 && word[0] == '-' && !strings.Contains("0123456789.", word[1:2]) || strings.ContainsAny(word, "\t\n")
}
