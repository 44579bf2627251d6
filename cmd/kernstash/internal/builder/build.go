// Package builder builds files of device code into the cache, ahead of time.
package builder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/store/disk"
)

// Options are how files are built.
type Options struct {
	Defines, Includes []string
	Options, Device   string
	Runtime           string
	Archs             []string
	Expressions       []string
	ProgramName       *string // nil: the file's
	LocalSizes        [][3]int
	NoOptions         bool
	Jobs              int
	Report            string // of a process of our own: where the answer goes

	Cache  kernstash.Options
	Disk   disk.Options
	Layers []string // read-only roots

	// open opens the builder of a runtime, and says which runtime it is of.
	Open func(runtime string, o Options) (b Builder, as string, err error)
}

// Archs are offered by the shells; compilers know which there are.
var Archs = []string{
	"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120",
	"compute_70", "compute_75", "compute_80", "compute_86", "compute_89", "compute_90", "compute_100", "compute_120",
	"gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201",
}

// CompileOptions returns what a compiler of OpenCL C is given.
func (o Options) CompileOptions() string {
	var words []string
	for _, d := range o.Defines {
		words = append(words, "-D"+d)
	}
	for _, dir := range o.Includes {
		words = append(words, "-I"+dir)
	}
	if o.Options != "" {
		words = append(words, o.Options)
	}
	return strings.Join(words, " ")
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
	Runtime string  `json:"runtime"`        // opencl, levelzero, nvrtc or hiprtc
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
	tasks, err := tasksFor(files, o)
	if err != nil {
		return err
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
	if err != nil {
		return err
	}
	o.Cache = kernstash.Options{ConfigFile: a.Config, Flags: flags, Ahead: true}
	o.Disk, o.Layers = cli.DiskOptions(s), s.Layers
	p := a.Progress()
	var report Report
	if cli.HasRuntimes && needsProcesses(tasks) && o.Report == "" {
		report, err = buildParts(ctx, a, tasks, o, p)
	} else {
		report, err = buildHere(ctx, tasks, o, p)
	}
	p.Done()
	switch {
	case err != nil:
		return fmt.Errorf("build: %w", err)
	case o.Report != "":
		return cli.Answer(o.Report, report)
	}
	for _, r := range report.Files {
		report.OK = report.OK && (r.State == StateBuilt || r.State == StateThere)
	}
	if a.JSON {
		err = a.WriteJSON(report)
	} else {
		writeBuilt(a, report)
	}
	if err == nil && !report.OK {
		return cli.ErrFound
	}
	return err
}

// buildHere does tasks in this process.
func buildHere(ctx context.Context, tasks []Task, o Options, p *terminal.Progress) (report Report, err error) {
	builders, err := openBuilders(tasks, o)
	defer func() {
		for _, b := range builders {
			err = errors.Join(err, b.Close())
		}
	}()
	if err != nil {
		return report, err
	}
	var titles []string
	for _, b := range builders {
		titles = append(titles, b.Title())
	}
	report = Report{Device: strings.Join(titles, ", "), OK: true}
	report.Files = buildAll(ctx, tasks, o.jobsFor(tasks), func(done int, r Result) {
		p.Say("%d/%d %s: %s", done, len(tasks), r.title(), r.State)
	})
	return report, nil
}

// jobsFor returns how many tasks to do at a time: HIPRTC 5.2 crashes when it compiles
// two programs at once.
func (o Options) jobsFor(tasks []Task) int {
	if slices.ContainsFunc(tasks, func(t Task) bool { return t.runtime == HIPRTC }) {
		return 1
	}
	return o.Jobs
}

// checkWords refuses what would become other options than were given.
func (o Options) checkWords(tasks []Task) error {
	if !slices.ContainsFunc(tasks, func(t Task) bool { return t.runtime == OpenCL }) {
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
func (r Result) title() string {
	if r.Arch == "" {
		return r.File
	}
	return r.File + " for " + r.Arch
}

func writeBuilt(a *cli.App, r Report) {
	t := a.Terminal()
	counts := make(map[State]int)
	for _, f := range r.Files {
		counts[f.State]++
		color := terminal.Green
		switch f.State {
		case StateFailed:
			color = terminal.Red
		case StateNotCacheable, StateNotStored:
			color = terminal.Yellow
		}
		a.Printf("%s  %s  %.0f ms", t.Paint(color, fmt.Sprintf("%-13s", f.State)), human.Printable(f.title(), false), f.MS)
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
	files := make(map[string]bool)
	for _, f := range r.Files {
		files[f.File] = true
	}
	a.Printf("%s: %s, for %s\n", human.Plural(len(files), "file"), strings.Join(parts, ", "), human.Printable(r.Device, false))
}
