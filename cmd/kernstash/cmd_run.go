package main

import (
	"math"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
)

func runCommand(a *cli.App) *cobra.Command {
	var o launch.Options
	cmd := &cobra.Command{
		Use:   "run [flags] [--] COMMAND [ARG...]",
		Short: "Run a command with the cache in it and in all that it starts",
		Long: `Run a command, and all that it starts, with the cache: what it compiles through
` + runtimes.Served() + ` and was compiled before is loaded,
the rest is compiled and kept. The command need not know of it.

Signals, the terminal, file descriptors and the exit status are the command's, as
if it had been started without us. In the end a short table on standard error says
what was asked for, what was found, what was compiled and why, and the time that
was saved; or why nothing was asked for. --report adds each program, --json makes it
one JSON object, --report-file writes that into a file. --quiet says nothing: then,
without --report-file, the command takes our process over.

Where a runtime has layers ours gets into a program through its loader
(` + runtimes.Layers().Variable + `) and is preloaded (LD_PRELOAD), for loaders that know no layers and
drivers without one; the first to come serves. --inject leaves one of them out. For
runtimes that have none, and libraries that a program opens by itself, a small
library is preloaded, too; not with --no-preload. 'kernstash doctor -- COMMAND'
says what a command compiles with.

With --observe nothing is served, so nothing can go wrong: what would have been
found is counted, everything is compiled, and the results are compared.

EXIT STATUS
  that of the command; it dies by a signal: we die by the same
    2  a flag makes no sense
  125  the command could not be run for a reason of ours
  126  the command cannot be executed
  127  there is no such command`,
		Example: `  kernstash run -- clinfo
  kernstash run --report -- hashcat -b -m 0
  kernstash run -- python3 train.py
  kernstash run --observe --report-file canary.json -- ./solver input.dat
  kernstash run --no-cache -- ./solver input.dat`,
		Args: wants(1, math.MaxInt, "run: which command?"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Global = a.Global
			return launch.Run(&o, args)
		},
		ValidArgsFunction: completeCommand,
	}
	cmd.Flags().SetInterspersed(false)
	o.BindSettings(cmd.Flags())
	o.BindRun(cmd.Flags())
	completeFlag(cmd, "inject", launch.Injects)
	return cmd
}
