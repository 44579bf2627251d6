// Package builder builds files of device code into the cache, ahead of time.
package builder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/pattern"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/worker"
)

// Options are how files are built.
type Options struct {
	tool.BuildOptions
	cli.Global
	Runtime, Device string
	Archs           []string
	Jobs            int
	part            bool // in a process of our own
}

// ParseLocalSize reads 64, 16x16 or 8x8x4.
func ParseLocalSize(s string) ([3]int, error) {
	size := [3]int{1, 1, 1}
	parts := strings.Split(s, "x")
	if len(parts) > len(size) {
		return size, fmt.Errorf("--local-size %s: want one to three numbers, such as 16x16", s)
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return size, fmt.Errorf("--local-size %s: want one to three numbers, such as 16x16", s)
		}
		size[i] = int(n)
	}
	return size, nil
}

// State is how a file ended.
type State string

// The states.
const (
	StateBuilt        State = "built"
	StateThere        State = "was there"
	StateFailed       State = "failed"
	StateNotCacheable State = "not cacheable"
	StateNotStored    State = "not stored"
)

// Result is one file as --json writes it.
type Result struct {
	File    string  `json:"file"`
	Runtime string  `json:"runtime"`        // its name
	Arch    string  `json:"arch,omitempty"` // of those that were named
	State   State   `json:"state"`
	MS      float64 `json:"ms"`
	Bytes   int64   `json:"bytes,omitempty"`  // of artifacts written
	Reason  string  `json:"reason,omitempty"` // why it failed, or is not in the cache
	Log     string  `json:"log,omitempty"`    // the compiler's
}

// Report is what `build --json` writes.
type Report struct {
	Device string   `json:"device"` // what was built for: devices, and compilers that need none
	Files  []Result `json:"files"`
	OK     bool     `json:"ok"`
}

// Build builds files, and writes how each of them ended.
func Build(ctx context.Context, a *cli.App, files []string, o Options) error {
	if !runtimes.Linked {
		return runtimes.ErrNone
	}
	tasks, err := tasksFor(files, o)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(tasks, func(t Task) bool { return t.candidates[0].Devices == nil }) {
		if o.Words, err = splitWords(o.Options); err != nil {
			return cli.Usagef("--options %q: %v", o.Options, err)
		}
	}
	if err := errors.Join(o.checkWords(tasks), o.checkUsed(tasks)); err != nil {
		return err
	}
	if o.NoOptions && o.CompileOptions() != "" {
		return cli.Usagef("--no-options beside options: %s", o.CompileOptions())
	}
	if o.Jobs < 1 {
		return cli.Usagef("--jobs %d: want 1 or more", o.Jobs)
	}
	if err := o.useCache(a); err != nil {
		return err
	}
	p := a.Progress()
	build := buildHere
	// Compilers of several runtimes may be unable to live together, and drivers are known to
	// end the process at a module of SPIR-V that is not valid.
	if slices.ContainsFunc(tasks, func(t Task) bool { return t.runtime() != tasks[0].runtime() || t.Kind == key.SPIRV }) {
		build = buildParts
	}
	report, err := build(ctx, tasks, o, p)
	p.Done()
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	for _, r := range report.Files {
		report.OK = report.OK && (r.State == StateBuilt || r.State == StateThere)
	}
	return a.Report(report, report.OK, func() { writeBuilt(a, report) })
}

// useCache takes the cache that the settings name.
func (o *Options) useCache(a *cli.App) error {
	s, err := a.Settings()
	switch {
	case err != nil:
		return err
	case s.Disable:
		return fmt.Errorf("build: disable=1 (%v) switches the cache off; unset it", s.Origin("disable"))
	case !s.Persistent:
		return fmt.Errorf("build: persistent=0 (%v) switches the disk tier off; unset it", s.Origin("persistent"))
	case s.Dir == "":
		return fmt.Errorf("build: %w", cli.ErrNoDirectory)
	}
	flags, err := a.FlagTexts()
	o.Cache = kernstash.Options{ConfigFile: a.Config, Flags: flags, Ahead: true, Starter: worker.ForCache}
	o.Disk, o.Layers = cli.DiskOptions(s), s.Layers
	return err
}

// buildHere does tasks in this process. They are of one runtime, or of the same several.
func buildHere(ctx context.Context, tasks []Task, o Options, p *terminal.Progress) (report Report, err error) {
	rt, b, failed := open(tasks[0], o)
	switch {
	case cli.IsUsage(failed):
		return report, failed
	case failed == nil:
		defer func() { err = errors.Join(err, b.Close()) }()
		report.Device = b.Title()
		if rt.Serial {
			o.Jobs = 1
		}
	case !o.part:
		return report, fmt.Errorf("%s: %w", tasks[0].Path, failed)
	}
	for i := range tasks {
		t := &tasks[i]
		if t.builder, t.failed = b, failed; failed == nil {
			t.candidates = []*tool.Runtime{rt}
		}
	}
	report.OK = true
	report.Files = buildAll(ctx, tasks, o.Jobs, func(done int, r Result) {
		p.Say("%d/%d %s: %s", done, len(tasks), r.title(), r.State)
	})
	return report, nil
}

// checkWords refuses what would become other options than were given.
func (o Options) checkWords(tasks []Task) error {
	if !slices.ContainsFunc(tasks, func(t Task) bool { return len(t.candidates) == 1 && t.candidates[0].Joined }) {
		return nil
	}
	for _, words := range []struct {
		flag   string
		values []string
	}{{"define", o.Defines}, {"include", o.Includes}} {
		for _, v := range words.values {
			if strings.ContainsFunc(v, unicode.IsSpace) {
				return cli.Usagef("--%s %q: drivers split options at spaces; give it with --options, quoted as your driver wants it", words.flag, v)
			}
		}
	}
	return nil
}

// title returns the file, with its architecture where one was named.
func (r Result) title() string { return strings.TrimSuffix(r.File+" for "+r.Arch, " for ") }

func writeBuilt(a *cli.App, r Report) {
	t := a.Terminal()
	colors := map[State]string{
		StateBuilt: terminal.Green, StateThere: terminal.Green, StateFailed: terminal.Red,
		StateNotCacheable: terminal.Yellow, StateNotStored: terminal.Yellow,
	}
	counts, files := make(map[State]int), make(map[string]bool)
	for _, f := range r.Files {
		counts[f.State]++
		files[f.File] = true
		a.Printf("%s  %s  %s", t.Paint(colors[f.State], fmt.Sprintf("%-13s", f.State)), human.Printable(f.title(), false),
			human.Time(time.Duration(f.MS*float64(time.Millisecond))))
		if f.Bytes > 0 {
			a.Printf(", %s", human.Size(f.Bytes))
		}
		if f.Reason != "" {
			a.Printf(": %s", human.Printable(f.Reason, false))
		}
		a.Printf("\n")
		for text := range strings.SplitSeq(strings.TrimSpace(f.Log), "\n") {
			if text != "" {
				a.Printf("    %s\n", human.Printable(text, true))
			}
		}
	}
	var parts []string
	for _, s := range []State{StateBuilt, StateThere, StateFailed, StateNotCacheable, StateNotStored} {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	a.Printf("%s: %s, for %s\n", human.Plural(len(files), "file"), strings.Join(parts, ", "), human.Printable(r.Device, false))
}

// piece is what a text begins with: quoted in either way, behind a backslash, plain, or blanks.
var piece = pattern.Lazy(`(?s)^(?:'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s\v'"\\]+)|[\s\v]+)`)

// escaped is what a backslash in double quotes stands before.
var escaped = pattern.Lazy("\\\\([\\\\\"$`])")

// splitWords splits a text into words as a POSIX shell does, without expanding anything.
func splitWords(text string) (words []string, err error) {
	for within := false; text != ""; {
		m := piece().FindStringSubmatch(text)
		if m == nil {
			return nil, errors.New("a quote is not closed, or nothing is behind a backslash")
		}
		text = text[len(m[0]):]
		if strings.Trim(m[0], " \t\n\r\v\f") == "" {
			within = false
			continue
		}
		if !within {
			words, within = append(words, ""), true
		}
		words[len(words)-1] += m[1] + escaped().ReplaceAllString(m[2], "$1") + m[3] + m[4]
	}
	return words, nil
}
