package kernstash

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

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
	rec.Options.Variables, unsure = x.rt.Variables(devices[0])
	if judge, ok := any(x.rt).(OptionsJudge); ok && id.err == nil {
		judged = judge.AgainstOptions(devices[0], rec.Options.Compile)
	}
	if err := cmp.Or(id.err, unsure, judged); err != nil {
		return rec, deps.Reason{Counter: stats.NotCacheableRuntime, Detail: err.Error()}, nil
	}
	reason := against(x.cache.settings, r.Image, rec.Options)
	if !reason.None() || t == nil {
		return rec, reason, nil
	}
	if !t.against.None() {
		return rec, t.against, nil
	}
	rec.Image = t.image
	if !t.located {
		rec.Options.Compile, rec.Options.Search = deps.SplitSearch(rec.Options.Compile)
	}
	return rec, deps.Reason{}, nil
}

// buildOptions returns the options of a request in this context.
func (x *Context[P, K]) buildOptions(r Request) key.BuildOptions {
	set := x.cache.settings
	if x.options.OptionsAsGiven {
		set = &settings.Settings{}
	}
	o := buildOptions(set, r)
	o.Absent = r.NoOptions && len(o.Compile) == 0
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
		return deps.Reason{Counter: stats.NotCacheableHeaders, Detail: "header files are not looked at: the cache is off"}
	}
	if reason := againstOptions(m, o); !reason.None() {
		return reason
	}
	if n := m.Size(); n < set.MinDeviceImageSize || set.MaxDeviceImageSize > 0 && n > set.MaxDeviceImageSize {
		return deps.Reason{Counter: stats.NotCacheableSize, Detail: fmt.Sprintf("%d bytes", n)}
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
				Counter: stats.NotCacheableHeaders,
				Detail:  "header files, and options in the variable " + v.Name,
			}
		}
		all = append(all, words)
	}
	for i, words := range all {
		reason, readsPath := deps.ScanOptions(words)
		if !reason.None() {
			return reason
		}
		if readsPath && m.files != nil && i > 0 {
			return deps.Reason{
				Counter: stats.NotCacheableHeaders,
				Detail:  "header files, and directories to search that are no compile options",
			}
		}
		if readsPath && m.hasHeaders() {
			return deps.Reason{
				Counter: stats.NotCacheableHeaders,
				Detail:  "headers in memory beside directories to search",
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
			"variables", fmt.Sprint(r.Options.Variables))
	})
}
