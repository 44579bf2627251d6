package main

import (
	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/doctor"
)

func doctorCommand(a *cli.App) *cobra.Command {
	var quick bool
	cmd := &cobra.Command{
		Use:   "doctor [-- COMMAND [ARG...]]",
		Short: "Find out whether caching works here, and why not",
		Long: `Look at everything that caching needs: the settings, the root with its owner,
permissions and file system, the read-only layers, what brings the cache into
unchanged applications here, and each runtime with its platforms, devices, drivers,
their own caches, and compiler libraries.

The first line says whether caching works. It does not only look. It stores an entry
in the root, reads it again, and removes it (where there is no root yet, in a
temporary directory where it would be made); and for each device it compiles a
small program, stores it in a directory of its own, and starts it from there.

With a command it runs that, without the cache, and names the run-time compilers
that it and all that it starts really load: those that 'kernstash run' serves, and
those that it does not. (The dynamic linker says so: static programs, and those
with rights that you have not, cannot be seen.) With --json the command's output
goes to standard error.` +
			exits("caching works; the command was run", "something is wrong, or there is no device; the report says what, and what to do"),
		Example: `  kernstash doctor
  kernstash doctor --quick
  kernstash doctor --dir /mnt/shared/stash --json
  kernstash doctor -- python3 train.py`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case len(args) > 0 && dash != 0:
				return cli.Usagef("doctor %s: a command is given behind --: kernstash doctor -- %[1]s", args[0])
			case dash == 0 && len(args) == 0:
				return cli.Usagef("doctor --: which command?")
			case len(args) > 0:
				return doctor.RunCommand(cmd.Context(), a, args)
			}
			return doctor.Run(cmd.Context(), a, quick)
		},
		ValidArgsFunction: completeCommand,
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "compile nothing: only look at the devices")
	return cmd
}
