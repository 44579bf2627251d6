package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/store/disk"
)

func (a *app) buildCommand() *cobra.Command {
	o := buildOptions{jobs: runtime.NumCPU()}
	var localSizes []string
	var name string
	cmd := &cobra.Command{
		Use:   "build FILE…",
		Short: "Build files of device code into the cache, ahead of time",
		Long: `Build files of device code in parallel through the library, so that programs
which ask for them later find them. For each file it says whether it was built now,
was there already, failed (with the compiler's log), or cannot be cached and why.

  .cl    OpenCL C, for an OpenCL device
  .cu    CUDA C++, with NVRTC, for the architectures that --arch names (sm_90 makes
         machine code, compute_90 PTX); it needs no GPU
  .hip   HIP C++, with HIPRTC, for those (gfx90a); it needs no GPU
  .spv   SPIR-V, for a Level Zero device, or for an OpenCL device that takes it:
         --runtime says for which, else it is the first of these that is here

Files with other names are OpenCL C, unless --runtime says for what they are.

A program finds what was built here if it asks with the same source and the
same options, word for word; --options gives them as they are. Some OpenCL drivers
(PoCL) answer a program that passes no options otherwise than one that passes
empty ones: for the former say --no-options.

With NVRTC and HIPRTC it must also give its program the same name, which is what
these call their file, and name the same expressions in the same order: it is the
FILE as it is given here, or --program-name ("" for programs that pass NULL).
--options is split into options as a shell splits words, quotes included; they
follow those of -D, -I and --arch. Programs that hand header files over in memory
cannot be prepared from files.

Some OpenCL drivers (PoCL) make code only when a kernel is launched, for each local
size anew. For them say which local sizes will be used: --local-size 64, or
--local-size 16x16, as often as need be.

EXIT STATUS
  0  every file was built or was there
  1  one failed, or could not be cached
  2  a flag makes no sense`,
		Example: `  kernstash build vadd.cl
  kernstash build --local-size 16x16 -D N=1024 --options "-cl-fast-relaxed-math" *.cl
  kernstash build --device pthread --json kernels/*.cl
  kernstash build --arch sm_80 --arch sm_90 --options "--std=c++17 -lineinfo" saxpy.cu
  kernstash build --arch sm_90 --name-expression 'scale<float>' --program-name "" scale.cu
  kernstash build --arch gfx90a scale.hip
  kernstash build --runtime levelzero --options "-ze-opt-level=2" scale.spv`,
		Args: atLeast(1, "build: which files?"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "") {
				return usagef("build: the name of a file is empty")
			}
			for _, s := range localSizes {
				size, err := parseLocalSize(s)
				if err != nil {
					return &usageError{err}
				}
				o.localSizes = append(o.localSizes, size)
			}
			if cmd.Flags().Changed("program-name") {
				o.programName = &name
			}
			if f := cmd.Flags().Lookup("report"); f != nil {
				o.report = f.Value.String()
			}
			return a.build(cmd.Context(), args, o)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.defines, "define", "D", nil, "macro, as NAME or NAME=VALUE; given to the compiler as -DNAME=VALUE")
	flags.StringArrayVarP(&o.includes, "include", "I", nil, "directory to search for headers")
	flags.StringArrayVar(&o.archs, "arch", nil, "architecture for .cu (sm_90, compute_90) or .hip (gfx90a); each file is built for each of its own")
	flags.StringArrayVar(&o.expressions, "name-expression", nil, "name expression of .cu and .hip, in the order in which the program adds them")
	flags.StringVar(&name, "program-name", "", "name that the program gives to .cu and .hip instead of FILE; \"\" for none")
	flags.StringVar(&o.options, "options", "", "build options, behind those of -D and -I")
	flags.BoolVar(&o.noOptions, "no-options", false, "as for a program that passes no options at all: NULL, not \"\"")
	flags.StringVar(&o.runtime, "runtime", "", "runtime for .spv (levelzero, opencl) and for files whose names do not tell")
	_ = cmd.RegisterFlagCompletionFunc("runtime", cobra.FixedCompletions(buildRuntimes, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("arch", cobra.FixedCompletions(knownArchs, cobra.ShellCompDirectiveNoFileComp))
	flags.StringVar(&o.device, "device", "", "device: its number, or a part of 'platform/device'")
	flags.StringArrayVar(&localSizes, "local-size", nil, "local size that will be launched: 64, 16x16, 8x8x4")
	flags.IntVarP(&o.jobs, "jobs", "j", o.jobs, "files at a time")
	return cmd
}

// buildOptions are how files are built.
type buildOptions struct {
	defines, includes []string
	options, device   string
	runtime           string
	archs             []string
	expressions       []string
	programName       *string // nil: the file's
	localSizes        [][3]int
	noOptions         bool
	jobs              int
	report            string // of a process of our own: where the answer goes

	cache  kernstash.Options
	disk   disk.Options
	layers []string // read-only roots
}

// knownArchs are offered by the shells; compilers know which there are.
var knownArchs = []string{
	"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120",
	"compute_70", "compute_75", "compute_80", "compute_86", "compute_89", "compute_90", "compute_100", "compute_120",
	"gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201",
}

// compileOptions returns what a compiler of OpenCL C is given.
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
	File    string     `json:"file"`
	Runtime string     `json:"runtime"`        // opencl, levelzero, nvrtc or hiprtc
	Arch    string     `json:"arch,omitempty"` // of those that were named
	State   buildState `json:"state"`
	MS      float64    `json:"ms"`
	Bytes   int64      `json:"bytes,omitempty"`  // of artifacts written
	Reason  string     `json:"reason,omitempty"` // why it failed, or is not in the cache
	Log     string     `json:"log,omitempty"`    // the compiler's
}

// buildReport is what `build --json` writes.
type buildReport struct {
	Device string        `json:"device"` // what was built for: devices, and compilers that need none
	Files  []buildResult `json:"files"`
	OK     bool          `json:"ok"`
}

func (a *app) build(ctx context.Context, files []string, o buildOptions) error {
	tasks, err := buildTasks(files, o)
	if err != nil {
		return err
	}
	if err := errors.Join(o.checkWords(tasks), o.checkUsed(tasks)); err != nil {
		return err
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
		return fmt.Errorf("build: %w", errNoDirectory)
	}
	flags, err := a.flagTexts()
	if err != nil {
		return err
	}
	o.cache = kernstash.Options{ConfigFile: a.config, Flags: flags, Ahead: true}
	o.disk, o.layers = diskOptions(s), s.Layers
	p := a.newProgress()
	var report buildReport
	if hasRuntimes && needsProcesses(tasks) && o.report == "" {
		report, err = a.buildParts(ctx, tasks, o, p)
	} else {
		report, err = buildHere(ctx, tasks, o, p)
	}
	p.done()
	switch {
	case err != nil:
		return fmt.Errorf("build: %w", err)
	case o.report != "":
		return answerTo(o.report, report)
	}
	for _, r := range report.Files {
		report.OK = report.OK && (r.State == stateBuilt || r.State == stateThere)
	}
	if a.json {
		err = a.writeJSON(report)
	} else {
		a.writeBuilt(report)
	}
	if err == nil && !report.OK {
		return errFound
	}
	return err
}

// buildHere does tasks in this process.
func buildHere(ctx context.Context, tasks []buildTask, o buildOptions, p *progress) (report buildReport, err error) {
	builders, err := openBuilders(tasks, o)
	defer func() {
		for _, b := range builders {
			err = errors.Join(err, b.close())
		}
	}()
	if err != nil {
		return report, err
	}
	var titles []string
	for _, b := range builders {
		titles = append(titles, b.title())
	}
	report = buildReport{Device: strings.Join(titles, ", "), OK: true}
	report.Files = buildAll(ctx, tasks, o.jobsFor(tasks), func(done int, r buildResult) {
		p.say("%d/%d %s: %s", done, len(tasks), r.title(), r.State)
	})
	return report, nil
}

// jobsFor returns how many tasks to do at a time: HIPRTC 5.2 crashes when it compiles
// two programs at once.
func (o buildOptions) jobsFor(tasks []buildTask) int {
	if slices.ContainsFunc(tasks, func(t buildTask) bool { return t.runtime == buildHIPRTC }) {
		return 1
	}
	return o.jobs
}

// checkWords refuses what would become other options than were given.
func (o buildOptions) checkWords(tasks []buildTask) error {
	if !slices.ContainsFunc(tasks, func(t buildTask) bool { return t.runtime == buildOpenCL }) {
		return nil
	}
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
	return nil
}

// title returns the file, with its architecture where one was named.
func (r buildResult) title() string {
	if r.Arch == "" {
		return r.File
	}
	return r.File + " for " + r.Arch
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
		a.printf("%s  %s  %.0f ms", t.paint(color, fmt.Sprintf("%-13s", f.State)), printable(f.title(), false), f.MS)
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
	files := make(map[string]bool)
	for _, f := range r.Files {
		files[f.File] = true
	}
	a.printf("%s: %s, for %s\n", plural(len(files), "file"), strings.Join(parts, ", "), printable(r.Device, false))
}
