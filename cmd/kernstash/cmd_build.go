package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/store/disk"
)

func (a *app) buildCommand() *cobra.Command {
	o := buildOptions{jobs: runtime.NumCPU()}
	var localSizes []string
	cmd := &cobra.Command{
		Use:   "build FILE…",
		Short: "Build OpenCL C files into the cache, ahead of time",
		Long: `Build OpenCL C files in parallel through the library, so that programs which
ask for them later find them. For each file it says whether it was built now,
was there already, failed (with the compiler's log), or cannot be cached and
why.

A program finds what was built here if it asks with the same source and the
same options, word for word; --options gives them as they are. Some drivers
(PoCL) answer a program that passes no options otherwise than one that passes
empty ones: for the former say --no-options.

Some drivers (PoCL) make code only when a kernel is launched, for each local
size anew. For them say which local sizes will be used: --local-size 64, or
--local-size 16x16, as often as need be.

EXIT STATUS
  0  every file was built or was there
  1  one failed, or could not be cached
  2  a flag makes no sense`,
		Example: `  kernstash build vadd.cl
  kernstash build --local-size 16x16 -D N=1024 --options "-cl-fast-relaxed-math" *.cl
  kernstash build --device pthread --json kernels/*.cl`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range localSizes {
				size, err := parseLocalSize(s)
				if err != nil {
					return &usageError{err}
				}
				o.localSizes = append(o.localSizes, size)
			}
			return a.build(cmd.Context(), args, o)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.defines, "define", "D", nil, "macro, as NAME or NAME=VALUE; given to the compiler as -DNAME=VALUE")
	flags.StringArrayVarP(&o.includes, "include", "I", nil, "directory to search for headers")
	flags.StringVar(&o.options, "options", "", "build options, behind those of -D and -I")
	flags.BoolVar(&o.noOptions, "no-options", false, "as for a program that passes no options at all: NULL, not \"\"")
	flags.StringVar(&o.device, "device", "", "device: its number, or a part of 'platform/device'")
	flags.StringArrayVar(&localSizes, "local-size", nil, "local size that will be launched: 64, 16x16, 8x8x4")
	flags.IntVarP(&o.jobs, "jobs", "j", o.jobs, "files at a time")
	return cmd
}

// buildOptions are how files are built.
type buildOptions struct {
	defines, includes []string
	options, device   string
	localSizes        [][3]int
	noOptions         bool
	jobs              int
}

// compileOptions returns what the compiler is given.
func (o buildOptions) compileOptions() string {
	var words []string
	for _, d := range o.defines {
		words = append(words, "-D"+d)
	}
	for _, dir := range o.includes {
		words = append(words, "-I"+dir)
	}
	if o.options != "" {
		words = append(words, o.options)
	}
	return strings.Join(words, " ")
}

// parseLocalSize reads 64, 16x16 or 8x8x4.
func parseLocalSize(s string) ([3]int, error) {
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

// buildState is how a file ended.
type buildState string

// The states.
const (
	stateBuilt        buildState = "built"
	stateThere        buildState = "was there"
	stateFailed       buildState = "failed"
	stateNotCacheable buildState = "not cacheable"
	stateNotStored    buildState = "not stored"
)

// buildResult is one file as --json writes it.
type buildResult struct {
	File   string     `json:"file"`
	State  buildState `json:"state"`
	MS     float64    `json:"ms"`
	Bytes  int64      `json:"bytes,omitempty"`  // of artifacts written
	Reason string     `json:"reason,omitempty"` // why it failed, or is not in the cache
	Log    string     `json:"log,omitempty"`    // the compiler's
}

// buildReport is what `build --json` writes.
type buildReport struct {
	Device string        `json:"device"`
	Files  []buildResult `json:"files"`
	OK     bool          `json:"ok"`
}

func (a *app) build(ctx context.Context, files []string, o buildOptions) error {
	for _, words := range []struct {
		flag   string
		values []string
	}{{"define", o.defines}, {"include", o.includes}} {
		for _, v := range words.values {
			if strings.ContainsFunc(v, unicode.IsSpace) {
				return usagef("--%s %q: drivers split options at spaces; give it with --options, quoted as your driver wants it", words.flag, v)
			}
		}
	}
	if o.noOptions && o.compileOptions() != "" {
		return usagef("--no-options beside options: %s", o.compileOptions())
	}
	if o.jobs < 1 {
		return usagef("--jobs %d: want 1 or more", o.jobs)
	}
	s, err := a.settings()
	switch {
	case err != nil:
		return err
	case s.Disable:
		return fmt.Errorf("build: disable=1 (%v) switches the cache off; unset it", s.Origin("disable"))
	case !s.Persistent:
		return fmt.Errorf("build: persistent=0 (%v) switches the disk tier off; unset it", s.Origin("persistent"))
	case s.Dir == "":
		return errors.New("build: there is no cache directory: set KERNSTASH_DIR, or give --dir")
	}
	flags, err := a.flagTexts()
	if err != nil {
		return err
	}
	d := disk.New(diskOptions(s))
	b, err := openBuilder(o, d, s.Layers, flags, a.config)
	if err != nil {
		return errors.Join(fmt.Errorf("build: %w", err), d.Close())
	}
	report := buildReport{Device: b.title, OK: true}
	p := a.newProgress()
	report.Files = b.all(ctx, files, func(done int, r buildResult) {
		p.say("%d/%d %s: %s", done, len(files), r.File, r.State)
	})
	p.done()
	err = b.close()
	for _, r := range report.Files {
		report.OK = report.OK && (r.State == stateBuilt || r.State == stateThere)
	}
	if a.json {
		err = errors.Join(err, a.writeJSON(report))
	} else {
		a.writeBuilt(report)
	}
	if err == nil && !report.OK {
		return errFound
	}
	return err
}

func (a *app) writeBuilt(r buildReport) {
	t := a.terminal()
	counts := make(map[buildState]int)
	for _, f := range r.Files {
		counts[f.State]++
		color := green
		switch f.State {
		case stateFailed:
			color = red
		case stateNotCacheable, stateNotStored:
			color = yellow
		}
		a.printf("%s  %s  %.0f ms", t.paint(color, fmt.Sprintf("%-13s", f.State)), printable(f.File, false), f.MS)
		if f.Bytes > 0 {
			a.printf(", %s", humanSize(f.Bytes))
		}
		if f.Reason != "" {
			a.printf(": %s", printable(f.Reason, false))
		}
		a.printf("\n")
		for text := range strings.SplitSeq(strings.TrimSpace(f.Log), "\n") {
			if text != "" {
				a.printf("    %s\n", printable(text, true))
			}
		}
	}
	var parts []string
	for _, s := range []buildState{stateBuilt, stateThere, stateFailed, stateNotCacheable, stateNotStored} {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	a.printf("%s: %s, for %s\n", plural(len(r.Files), "file"), strings.Join(parts, ", "), printable(r.Device, false))
}
