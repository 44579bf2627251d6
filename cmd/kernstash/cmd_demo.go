package main

import (
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/demo"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/machine"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
)

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
	names := runtimes.Names(machine.HasMachines)
	flags.StringVar(&o.Runtime, "runtime", "", "runtime: "+strings.Join(names, ", "))
	completeFlag(cmd, "runtime", names)
	flags.StringVar(&o.Device, "device", "", "device: its number, or a part of 'platform/device'")
	flags.IntVar(&o.Runs, "runs", o.Runs, "processes that each warm time is the median of")
	flags.StringArrayVar(&apps, "app", nil, "measure this command instead, under 'kernstash run' (words with spaces between)")
	flags.BoolVar(&keep, "keep", false, "keep the directory of the demonstration, and say where it is")
	return cmd
}
