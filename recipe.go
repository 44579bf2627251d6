package kernstash

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/arithmetic"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

var errArithmetic = errors.New("arithmetic in a mode that is not the default, in which a compiler folds constants")

// recipe works out what a request means for a group of devices, and what
// speaks against storing it. t is what the image reads there, nil as long as
// that is not looked at.
func (x *Context[P, K]) recipe(devices []int, r Request, t *tracked) (*key.Recipe, deps.Reason, error) {
	constants, err := key.NewConstants(r.Constants...)
	if err != nil {
		return nil, deps.Reason{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	id := x.identities()[devices[0]]
	rec := &key.Recipe{
		Device:    id.device,
		Image:     r.Image.Image,
		Constants: constants,
		Options:   x.buildOptions(r),
	}
	var unsure, judged error
	rec.Options.Attributes, rec.Options.Unkeyed = keyed(r, t)
	rec.Options.Variables, unsure = x.rt.Variables(devices[0])
	if judge, ok := any(x.rt).(OptionsJudge); ok && id.err == nil {
		judged = judge.AgainstOptions(devices[0], rec.Options.Compile)
	}
	if !r.Image.isOpaque() && !arithmetic.Default() {
		unsure = cmp.Or(unsure, errArithmetic)
	}
	if errors.Is(id.err, errDisabled) {
		why := against(x.cache.settings, r.Image, rec.Options)
		if why.None() {
			why = deps.Reason{Code: reason.MissTierOff, Detail: errDisabled.Error()}
		}
		return rec, why, nil
	}
	if err := cmp.Or(id.err, unsure, judged); err != nil {
		return rec, deps.Reason{Code: reason.NotCacheableRuntime, Detail: err.Error()}, nil
	}
	why := against(x.cache.settings, r.Image, rec.Options)
	if why.None() && r.Image.hasHeaders() {
		why = x.hides(devices[0], r)
	}
	if why.None() && r.Image.files == nil {
		why, err = x.alone(rec)
	}
	if !why.None() || t == nil {
		return rec, why, err
	}
	if !t.against.None() {
		return rec, t.against, nil
	}
	if check := r.Image.checkFiles; check != nil {
		if why := t.check(check); !why.None() {
			return rec, why, nil
		}
	}
	rec.Image = t.image
	if !t.located {
		rec.Options.Compile, rec.Options.Search = deps.SplitSearch(rec.Options.Compile)
	}
	return rec, deps.Reason{}, nil
}

// keyed returns which attributes of a request are in the key, and which are not; t is as for
// recipe. Of CUDA C++ that reads files, how what is built depends on the directory of the main
// source decides about that; what else the request has in the key is in it.
func keyed(r Request, t *tracked) (in, out []key.Pair) {
	in, out = key.SortAttributes(r.Attributes), slices.Clone(r.Unkeyed)
	if t == nil || slices.ContainsFunc(r.Image.Units(), func(u key.Unit) bool { return u.Kind != key.CUDACpp }) {
		return in, key.SortAttributes(out)
	}
	_, random := key.Attribute(in, deps.SourceParent)
	byParent := t.placing == deps.Called && random
	all := in
	in = nil
	for _, a := range all {
		switch {
		case a.Name == deps.SourceDirectory && (byParent || t.placing == deps.Unplaced):
			out = append(out, a)
		case a.Name != deps.SourceParent || byParent:
			in = append(in, a)
		}
	}
	return in, key.SortAttributes(out)
}

// hides says whether a file of the name of a header in memory is where the compiler may look
// before it takes that header: in PoCL's cache directory, where it has the source.
func (x *Context[P, K]) hides(device int, r Request) deps.Reason {
	units := r.Image.Units()
	if !slices.ContainsFunc(units, isOpenCLC) {
		return deps.Reason{} // compilers at run time take headers in memory first
	}
	dir, err := os.Getwd()
	if err != nil {
		return deps.Reason{Code: reason.NotCacheableHeaders, Detail: err.Error()}
	}
	s, err := x.headerSearch(device, dir, r)
	if err != nil {
		return deps.Reason{} // the working directory was looked at when the image was made
	}
	dirs := slices.Concat([]string{s.Main, dir}, s.First, s.Last, s.System)
	for _, u := range units {
		for _, h := range u.Headers {
			for _, d := range dirs {
				if _, err := os.Lstat(filepath.Join(d, h.Name)); d != "" && err == nil {
					return deps.Reason{Code: reason.NotCacheableHeaders, Detail: fmt.Sprintf("header %q is also a file in %s", h.Name, d)}
				}
			}
		}
	}
	return deps.Reason{}
}

func isOpenCLC(u key.Unit) bool { return u.Kind == key.OpenCLC }

// alone makes of the recipe of an image that reads no file what it means: where it
// searches for files does not count then, and where it is built only if the options say so.
func (x *Context[P, K]) alone(rec *key.Recipe) (deps.Reason, error) {
	units := rec.Image.Units()
	if !slices.ContainsFunc(units, isOpenCLC) {
		return deps.Reason{}, nil // doors of other sources know what their compilers do
	}
	words := rec.Options.Compile
	if w := deps.NamedPath(words); w != "" {
		return deps.Reason{Code: reason.NotCacheableOptions, Detail: w}, nil
	}
	if !deps.KeepPaths(words) {
		rec.Options.Compile, rec.Options.Search = deps.SplitSearch(words)
		return deps.Reason{}, nil
	}
	dir, err := os.Getwd()
	if err != nil || len(units) > 1 || rec.Image.IsSequence() {
		return deps.Reason{Code: reason.NotCacheableOptions, Detail: "debug information of what is linked"}, nil
	}
	rec.Image, err = rec.Image.Tracked([]key.Unit{{Kind: units[0].Kind, Code: units[0].Code, Headers: units[0].Headers, Dir: dir}})
	return deps.Reason{}, err
}

// buildOptions returns the options of a request in this context.
func (x *Context[P, K]) buildOptions(r Request) key.BuildOptions {
	set := x.cache.settings
	if x.options.OptionsAsGiven {
		set = &settings.Settings{}
	}
	o := buildOptions(set, r)
	o.Absent = r.NoOptions && len(o.Compile) == 0
	o.LinkAbsent = r.NoLinkOptions && len(o.Link) == 0
	return o
}

// buildOptions returns the words of all sources in force: those of the image
// and of the request unless the operator replaces them, then what the operator
// appends.
func buildOptions(set *settings.Settings, r Request) key.BuildOptions {
	words := func(override *string, image, request, appended string) []string {
		var w []string
		if override != nil {
			w = key.Tokens(*override)
		} else {
			w = append(key.Tokens(image), key.Tokens(request)...)
		}
		return append(w, key.Tokens(appended)...)
	}
	return key.BuildOptions{
		Compile: words(set.CompileOptions, r.Image.CompileOptions, r.CompileOptions, set.AppendCompileOptions),
		Link:    words(set.LinkOptions, r.Image.LinkOptions, r.LinkOptions, set.AppendLinkOptions),
	}
}

// against says what speaks against storing a build: the one rule set for all
// doors. When in doubt, it is not stored.
func against(set *settings.Settings, m *Image, o key.BuildOptions) deps.Reason {
	if !m.against.None() {
		return m.against
	}
	if m.files != nil && set.Disable {
		return deps.Reason{Code: reason.NotCacheableHeaders, Detail: "header files are not looked at: the cache is off"}
	}
	if why := againstOptions(m, o); !why.None() {
		return why
	}
	if n := m.Size(); n < set.MinDeviceImageSize || set.MaxDeviceImageSize > 0 && n > set.MaxDeviceImageSize {
		return deps.Reason{Code: reason.NotCacheableSize, Detail: fmt.Sprintf("%d bytes", n)}
	}
	return deps.Reason{}
}

// againstOptions says what in the options speaks against storing a build. The
// options of a compiler of the caller's own are its own affair.
func againstOptions(m *Image, o key.BuildOptions) deps.Reason {
	if m.isOpaque() {
		return deps.Reason{}
	}
	all := [][]string{o.Compile, o.Link}
	for _, v := range o.Variables {
		words := key.Tokens(v.Value) // some hold options
		if m.files != nil && slices.ContainsFunc(words, isOption) {
			return deps.Reason{
				Code:   reason.NotCacheableHeaders,
				Detail: "header files, and options in the variable " + v.Name,
			}
		}
		all = append(all, words)
	}
	for i, words := range all {
		why, readsPath := deps.ScanOptions(words)
		if !why.None() {
			return why
		}
		if readsPath && m.files != nil && i > 0 {
			return deps.Reason{
				Code:   reason.NotCacheableHeaders,
				Detail: "header files, and directories to search that are no compile options",
			}
		}
		if readsPath && m.hasHeaders() {
			return deps.Reason{
				Code:   reason.NotCacheableHeaders,
				Detail: "headers in memory beside directories to search",
			}
		}
	}
	return deps.Reason{}
}

// isOption says whether a word of a variable's value may be an option: it may
// name directories, or define a macro that an include is made of.
func isOption(word string) bool {
	word = strings.TrimLeft(word, "\"'\\ \t")
	return len(word) > 1 && word[0] == '-' && !strings.Contains("0123456789.", word[1:2]) || strings.ContainsAny(word, "\t\n")
}

// traceKey tells what a key is made of.
func (c *Cache) traceKey(k key.Key, r *key.Recipe) {
	on(c.trace.keys, func(l *slog.Logger) {
		l.Debug("key", "key", k.Short(), "device", k.Device.Dir(), "image", k.Image.Dir(),
			"constants", k.Constants.Dir(), "options", k.Options.Dir(),
			"compile", r.Options.CompileString(), "link", r.Options.LinkString(),
			"variables", fmt.Sprint(r.Options.Variables), "attributes", fmt.Sprint(r.Options.Attributes))
	})
}
