package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/internal/launch"
	"github.com/kernstash/kernstash/internal/settings"
)

// app is one run of the command: its streams, and what all commands share.
type app struct {
	in       io.Reader
	stream   io.Writer // standard output itself, out is buffered
	out, err io.Writer

	json   bool
	dir    string
	config string
	set    []string // name=value
}

// The exit statuses.
const (
	exitOK    = 0
	exitFound = 1 // something failed, or a failure was found
	exitUsage = 2 // the command line makes no sense
)

// usageError is a mistake on the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// errFound ends a command that has said already what it found.
var errFound = errors.New("failures were found")

func (a *app) run(args []string) int {
	ctx, release := a.interruptible()
	defer release()
	out := bufio.NewWriter(a.out)
	a.stream = a.out
	a.out = out
	root := a.command()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetErr(a.err)
	cmd, err := root.ExecuteContextC(ctx)
	err = interruption(ctx, err)
	if flushErr := out.Flush(); flushErr != nil && (err == nil || errors.Is(err, errFound)) {
		err = fmt.Errorf("write output: %w", flushErr)
	}
	var usage *usageError
	var status *statusError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &status):
		fmt.Fprintf(a.err, "kernstash: %s\n", printable(err.Error(), true))
		return status.status
	case errors.Is(err, syscall.EPIPE):
		return exitOK // whoever read us has seen enough
	case errors.Is(err, errFound):
		return exitFound
	case errors.As(err, &usage), isCobraUsage(err):
		fmt.Fprintf(a.err, "kernstash: %s\nrun '%s --help' for what there is\n", printable(err.Error(), true), cmd.CommandPath())
		return exitUsage
	}
	fmt.Fprintf(a.err, "kernstash: %s\n", printable(err.Error(), true))
	return exitFound
}

// isCobraUsage recognises the one usage error that cobra gives no type: a
// command that does not exist.
func isCobraUsage(err error) bool { return strings.HasPrefix(err.Error(), "unknown command ") }

// noCommand refuses what is no command.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return nil
}

func (a *app) command() *cobra.Command {
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
				return a.writeVersion()
			}
			return cmd.Help()
		},

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := launch.CheckFlags(cmd.Flags()); err != nil {
				return &usageError{err}
			}
			return nil
		},
	}
	flags := root.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "write JSON, for machines")
	flags.StringVar(&a.dir, "dir", "", "root of the cache (setting dir)")
	flags.StringVar(&a.config, "config", "", "settings file to read instead of the user's")
	flags.StringArrayVar(&a.set, "set", nil, "a setting for this run, as NAME=VALUE (see 'kernstash config')")
	root.SetFlagErrorFunc(unknownFlag)
	root.Flags().BoolVar(&showVersion, "version", false, "print the version")
	root.AddCommand(
		a.runCommand(), a.envCommand(), a.enableCommand(), a.disableCommand(),
		a.demoCommand(), a.demoChildCommand(), a.buildCommand(), a.buildPartCommand(),
		a.lsCommand(), a.showCommand(), a.statCommand(),
		a.verifyCommand(), a.gcCommand(), a.clearCommand(),
		a.workerCommand(), a.workerDevicesCommand(),
		a.configCommand(), a.doctorCommand(), a.doctorRuntimeCommand(), a.versionCommand(), a.manCommand(),
	)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultHelpCmd()
	root.SetOut(a.out) // the completions keep it
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
					return &usageError{takesNone(cmd, args, err)}
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
					return usagef("help: there is no command %q; is it %q?", args[0], meant)
				}
				return usagef("help: there is no command %q", strings.Join(args, " "))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// flagTexts returns what the command line says about settings.
func (a *app) flagTexts() (map[string]string, error) {
	texts := make(map[string]string)
	for _, s := range a.set {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, usagef("--set %s: want NAME=VALUE", s)
		}
		texts[name] = value
	}
	if a.dir != "" {
		texts["dir"] = a.dir
	}
	return texts, nil
}

// settings returns the settings in force. A setting that makes no sense on the
// command line is a usage error, elsewhere an error.
func (a *app) settings() (*settings.Settings, error) {
	flags, err := a.flagTexts()
	if err != nil {
		return nil, err
	}
	s, err := settings.Load(settings.Inputs{ConfigFile: a.config, Flags: flags})
	var bad *settings.Error
	switch {
	case errors.As(err, &bad) && bad.Origin.Source == settings.Flag:
		return nil, &usageError{err}
	case err != nil:
		return nil, err
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(a.err, "kernstash: warning: %s\n", printable(w.Error(), false))
	}
	return s, nil
}

// writeJSON writes one indented value.
func (a *app) writeJSON(v any) error { return encodeJSON(a.out, v, "  ") }

// terminal says what standard output can show.
func (a *app) terminal() terminal { return terminalOf(a.stream) }

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// flush lets people see what has been written so far.
func (a *app) flush() error {
	if w, ok := a.out.(*bufio.Writer); ok {
		return w.Flush()
	}
	return nil
}
