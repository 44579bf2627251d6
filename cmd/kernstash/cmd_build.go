package main

import (
	"math"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/builder"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/demo"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
)

func buildCommand(a *cli.App) *cobra.Command {
	o := builder.Options{Jobs: runtime.NumCPU()}
	var localSizes []string
	var name, files string // files says which ones are built
	for _, rt := range runtimes.All {
		files += rt.Help
	}
	cmd := &cobra.Command{
		Use:   "build FILE…",
		Short: "Build files of device code into the cache, ahead of time",
		Long: `Build files of device code in parallel through the library, so that programs
which ask for them later find them. For each file it says whether it was built now,
was there already, failed (with the compiler's log), or cannot be cached and why.

` + files + `
Files with other names are OpenCL C, unless --runtime says for what they are.

A program finds what was built here if it asks with the same source and the
same options, word for word; --options gives them as they are. Some drivers (PoCL)
answer a program that passes no options otherwise than one that passes
empty ones: for the former say --no-options.

A program of .cu or .hip must also have the same name, which is what its compiler
calls the file, and name the same expressions in the same order: it is the
FILE as it is given here, or --program-name ("" for programs that pass NULL).
--options is split into options as a shell splits words, quotes included; they
follow those of -D, -I and --arch. Programs that hand header files over in memory
cannot be prepared from files.

Some drivers (PoCL) make code only when a kernel is launched, for each local
size anew. For them say which local sizes will be used: --local-size 64, or
--local-size 16x16, as often as need be.` +
			exits("every file was built or was there", "one failed, or could not be cached"),
		Example: `  kernstash build vadd.cl
  kernstash build --local-size 16x16 -D N=1024 --options -cl-mad-enable *.cl
  kernstash build --device pthread --json kernels/*.cl
  kernstash build --arch sm_80 --arch sm_90 --options --std=c++17 saxpy.cu
  kernstash build --arch sm_90 --name-expression 'scale<float>' \
    --program-name "" scale.cu
  kernstash build --arch gfx90a scale.hip
  kernstash build scale.spv`,
		Args: wants(1, math.MaxInt, "build: which files?"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "") {
				return cli.Usagef("build: the name of a file is empty")
			}
			for _, s := range localSizes {
				size, err := builder.ParseLocalSize(s)
				if err != nil {
					return cli.Usage(err)
				}
				o.LocalSizes = append(o.LocalSizes, size)
			}
			if cmd.Flags().Changed("program-name") {
				o.ProgramName = &name
			}
			o.Global = a.Global
			return builder.Build(cmd.Context(), a, args, o)
		},
	}
	flags, names := cmd.Flags(), runtimes.Names(builder.Builds)
	flags.StringArrayVarP(&o.Defines, "define", "D", nil, "macro, as NAME or NAME=VALUE; given to the compiler as -DNAME=VALUE")
	flags.StringArrayVarP(&o.Includes, "include", "I", nil, "directory to search for headers")
	flags.StringArrayVar(&o.Archs, "arch", nil, "architecture for .cu (sm_90, compute_90) or .hip (gfx90a); each file is built for each of its own")
	flags.StringArrayVar(&o.Expressions, "name-expression", nil, "name expression of .cu and .hip, in the order in which the program adds them")
	flags.StringVar(&name, "program-name", "", "name that the program gives to .cu and .hip instead of FILE; \"\" for none")
	flags.StringVar(&o.Options, "options", "", "build options, behind those of -D and -I")
	flags.BoolVar(&o.NoOptions, "no-options", false, "as for a program that passes no options at all: NULL, not \"\"")
	flags.StringVar(&o.Runtime, "runtime", "", "runtime for .spv and for files whose names do not tell: "+strings.Join(names, ", "))
	completeFlag(cmd, "runtime", names)
	completeFlag(cmd, "arch", builder.Archs())
	flags.StringVar(&o.Device, "device", "", "device: its number, or a part of 'platform/device'")
	flags.StringArrayVar(&localSizes, "local-size", nil, "local size that will be launched: 64, 16x16, 8x8x4")
	flags.IntVarP(&o.Jobs, "jobs", "j", o.Jobs, "files at a time")
	return cmd
}

func demoCommand(a *cli.App) *cobra.Command {
	o := demo.Options{Runs: 9}
	var keep bool
	var apps []string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Compile real kernels in one process and start warm in the next",
		Long: `Build and run six kernels, and check the numbers that they compute, in processes
of their own:

  cold    kernstash and the driver's own cache are both empty: it compiles
  driver  kernstash off, the driver's own cache filled by another process
  disk    with kernstash filled by the cold process, the driver's cache EMPTY
  memory  the same program asked for again in that process

The time of each is from the start of the build to the first result on the
host; driver and disk are medians over several processes (--runs).

Then, where the libraries of 'kernstash run' are there, applications of the runtime that
know nothing of kernstash: the example of the sources, which 'make demo' compiles,
and clpeak, if it is installed. Each runs alone, alone again, and under 'kernstash run'
cold and warm. With --app another command is measured so, and nothing else.

Without --runtime the first runtime that has a device is taken. The cache of the
demonstration is a directory of its own, which is removed in the end unless --keep
is given. Settings files and KERNSTASH_ variables have no part in it.` +
			exits("every number was right, and no second start compiled", "a number was wrong, a second start compiled, or there is no device"),
		Example: `  kernstash demo
  kernstash demo --device pthread
  kernstash demo --app './solver input.dat'
  kernstash demo --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, app := range apps {
				words := strings.Fields(app)
				if len(words) == 0 {
					return cli.Usagef("--app: which command?")
				}
				if path, err := exec.LookPath(words[0]); err == nil {
					words[0], _ = filepath.Abs(path)
				}
				o.Apps = append(o.Apps, words)
			}
			return demo.Run(cmd.Context(), a, o, keep)
		},
	}
	flags := cmd.Flags()
	names := runtimes.Names(demo.HasDevices)
	flags.StringVar(&o.Runtime, "runtime", "", "runtime: "+strings.Join(names, ", "))
	completeFlag(cmd, "runtime", names)
	flags.StringVar(&o.Device, "device", "", "device: its number, or a part of 'platform/device'")
	flags.IntVar(&o.Runs, "runs", o.Runs, "processes that each warm time is the median of")
	flags.StringArrayVar(&apps, "app", nil, "measure this command instead, under 'kernstash run' (words with spaces between)")
	flags.BoolVar(&keep, "keep", false, "keep the directory of the demonstration, and say where it is")
	return cmd
}
