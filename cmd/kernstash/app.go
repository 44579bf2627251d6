// Command kernstash looks into the cache, fills it, cleans it, and shows what
// it is worth. docs/COMMAND.md describes it.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/demo"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/doctor"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/internal/human"
)

func execute(a *cli.App, args []string) int {
	ctx, release := a.Interruptible()
	defer release()
	out := bufio.NewWriter(a.Out)
	a.Stream = a.Out
	a.Out = out
	root := rootCommand(a)
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetErr(a.Err)
	cmd, err := root.ExecuteContextC(ctx)
	err = cli.Interruption(ctx, err)
	if flushErr := out.Flush(); flushErr != nil && (err == nil || errors.Is(err, cli.ErrFound)) {
		err = fmt.Errorf("write output: %w", flushErr)
	}
	var usage *cli.UsageError
	var status *cli.StatusError
	switch {
	case err == nil:
		return cli.ExitOK
	case errors.As(err, &status):
		fmt.Fprintf(a.Err, "kernstash: %s\n", human.Printable(err.Error(), true))
		return status.Status
	case errors.Is(err, syscall.EPIPE):
		return cli.ExitOK // whoever read us has seen enough
	case errors.Is(err, cli.ErrFound):
		return cli.ExitFound
	case errors.As(err, &usage), isCobraUsage(err):
		fmt.Fprintf(a.Err, "kernstash: %s\nrun '%s --help' for what there is\n", human.Printable(err.Error(), true), cmd.CommandPath())
		return cli.ExitUsage
	}
	fmt.Fprintf(a.Err, "kernstash: %s\n", human.Printable(err.Error(), true))
	return cli.ExitFound
}

// noCommand refuses what is no command.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return nil
}

func rootCommand(a *cli.App) *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:   "kernstash",
		Short: "One cache for everything that a GPU runtime compiles at run time",
		Long: `kernstash keeps what GPU runtimes compile at run time, so that each program is
compiled once and starts warm in every process.

EXIT STATUS
  0  all is well
  1  something failed, or a failure was found
  2  the command line makes no sense`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return writeVersion(a)
			}
			return cmd.Help()
		},

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return launch.CheckFlags(cmd.Flags())
		},
	}
	a.Bind(root.PersistentFlags())
	root.SetFlagErrorFunc(unknownFlag)
	root.Flags().BoolVar(&showVersion, "version", false, "print the version")
	root.AddCommand(
		runCommand(a), envCommand(a), enableCommand(a), disableCommand(a),
		demoCommand(a), partCommand("demo-child", demo.RunChild), buildCommand(a), buildPartCommand(a),
		lsCommand(a), showCommand(a), statCommand(a),
		verifyCommand(a), gcCommand(a), clearCommand(a),
		workerCommand(a), partCommand("worker-devices", runtimes.Identities),
		configCommand(a), doctorCommand(a), partCommand("doctor-runtime", doctor.RunRuntime),
		versionCommand(a), manCommand(a),
	)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultHelpCmd()
	root.SetOut(a.Out) // the completions keep it
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if !cmd.Runnable() { // completion, which says what shells there are
			cmd.Args, cmd.RunE = noCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			cmd.Example = "  kernstash completion bash > /etc/bash_completion.d/kernstash"
			cmd.Long = strings.TrimSpace(cmd.Long) + "\n\nEXIT STATUS\n  0  written\n  2  there is no such shell"
		}
		if cmd.ValidArgsFunction == nil && !strings.Contains(cmd.Use, " ") {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		if check := cmd.Args; check != nil {
			cmd.Args = func(cmd *cobra.Command, args []string) error {
				if err := check(cmd, args); err != nil {
					return cli.Usage(takesNone(cmd, args, err))
				}
				return nil
			}
		}
	}
	return root
}

// helpCommand is cobra's, but that a command which does not exist is a mistake.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Help about a command",
		Long:    "Print what a command does, as COMMAND --help does.\n\nEXIT STATUS\n  0  printed\n  2  there is no such command",
		Example: "  kernstash help build",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				if meant := meantCommand(cmd.Root(), args[0]); meant != "" && len(args) == 1 {
					return cli.Usagef("help: there is no command %q; is it %q?", args[0], meant)
				}
				return cli.Usagef("help: there is no command %q", strings.Join(args, " "))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// run is the whole command; it returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &cli.App{In: stdin, Out: stdout, Err: stderr}
	return execute(a, args)
}
