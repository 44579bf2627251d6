// Command kernstash looks into the cache, fills it, cleans it, and shows what
// it is worth. docs/COMMAND.md describes it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/builder"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/compilers"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/demo"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/doctor"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/internal/human"
)

// run is the whole command; it returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := bufio.NewWriter(stdout)
	a := &cli.App{In: stdin, Stream: stdout, Out: out, Err: stderr}
	ctx, release := a.Interruptible()
	defer release()
	root := rootCommand(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	err = cli.Interruption(ctx, err)
	if flushErr := out.Flush(); flushErr != nil && (err == nil || errors.Is(err, cli.ErrFound)) {
		err = fmt.Errorf("write output: %w", flushErr)
	}
	status := &cli.StatusError{Status: cli.ExitFound}
	switch {
	case err == nil:
		return cli.ExitOK
	case errors.As(err, &status):
	case errors.Is(err, syscall.EPIPE):
		return cli.ExitOK // whoever read us has seen enough
	case errors.Is(err, cli.ErrFound):
		return cli.ExitFound
	}
	help := ""
	if status.Status == cli.ExitUsage {
		help = fmt.Sprintf("run '%s --help' for what there is", cmd.CommandPath())
	}
	if a.JSON || status.Status == cli.ExitUsage && asksForJSON(args) {
		_ = terminal.EncodeJSON(stderr, failure{err.Error(), status.Status, help}, "")
		return status.Status
	}
	fmt.Fprintf(stderr, "kernstash: %s\n", human.Printable(err.Error(), true))
	if help != "" {
		fmt.Fprintln(stderr, help)
	}
	return status.Status
}

// failure is an error as --json writes it.
type failure struct {
	Error  string `json:"error"`
	Status int    `json:"exit_status"`
	Help   string `json:"help,omitempty"`
}

// asksForJSON reports whether a command line that could not be understood asks for JSON.
func asksForJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

func rootCommand(a *cli.App) *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:   "kernstash",
		Short: "One cache for everything that a GPU runtime compiles at run time",
		Long: `kernstash keeps what GPU runtimes compile at run time, so that each program is
compiled once and starts warm in every process.` +
			exits("all is well", "something failed, or a failure was found", "the command line makes no sense"),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
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
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { a.Printf("%s", helpText(cmd, a.Terminal().Width)) })
	root.Flags().BoolVar(&showVersion, "version", false, "print the version")
	addGroup(root, "Have applications use the cache:",
		runCommand(a), enableCommand(a), disableCommand(a), envCommand(a), compileCommand(a), compilersCommand(a), demoCommand(a))
	addGroup(root, "See what it does:",
		statCommand(a), topCommand(a), lsCommand(a), duCommand(a), showCommand(a), whyCommand(a), diffCommand(a), reportCommand(a), serveCommand(a), doctorCommand(a), scanCommand(a))
	addGroup(root, "Keep it in order:",
		configCommand(a), gcCommand(a), clearCommand(a), pinCommand(a), unpinCommand(a), forgetCommand(a), verifyCommand(a), rebuildCommand(a), workerCommand(a))
	addGroup(root, "Fill it, and share it:",
		buildCommand(a), bundleCommand(a), remoteCommand(a), agentCommand(a), trustCommand(a), keygenCommand(a))
	root.AddCommand(
		partCommand("demo-child", demo.RunChild), partCommand("build-part", builder.BuildPart),
		partCommand("devices", runtimes.Identities), partCommand("doctor-runtime", doctor.RunRuntime),
		versionCommand(a), manCommand(a),
	)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultHelpCmd()
	root.SetOut(a.Out) // the completions keep it
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if !cmd.Runnable() { // completion, which says what shells there are
			cmd.Args, cmd.RunE = noArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			cmd.Example = "  kernstash completion bash > /etc/bash_completion.d/kernstash"
			cmd.Long = strings.TrimSpace(cmd.Long) + exits("written", "", "there is no such shell")
		}
		for _, cmd := range append([]*cobra.Command{cmd}, cmd.Commands()...) {
			if !strings.Contains(cmd.Use, " ") { // which names no argument
				cmd.Args, cmd.ValidArgsFunction = noArgs, cobra.NoFileCompletions
			}
		}
	}
	return root
}

// addGroup adds commands that help shows under a title.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
	}
	root.AddCommand(commands...)
}

// helpText is the help of a command. It fits the width, but for the examples, which people copy.
func helpText(cmd *cobra.Command, width int) string {
	before, after, _ := strings.Cut(cmd.UsageString(), cmd.Example)
	return human.Fill(strings.TrimSpace(cmd.Long)+"\n", width) + "\n" + human.WrapColumns(before, width) + cmd.Example + human.WrapColumns(after, width)
}

// helpCommand is cobra's, but that a command which does not exist is a mistake.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Help about a command",
		Long:    "Print what a command does, as COMMAND --help does." + exits("printed", "", "there is no such command"),
		Example: "  kernstash help build",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, _ := cmd.Root().Find(args) // which refuses nothing: all commands have Args
			if len(rest) > 0 {
				return unknownCommand(about, rest[0])
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// partCommand returns the hidden command that answers cli.AskPart.
func partCommand[Request, Answer any](name string, do func(context.Context, Request) (Answer, error)) *cobra.Command {
	var report string
	cmd := &cobra.Command{
		Use:    name,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var request Request
			if err := json.NewDecoder(cmd.InOrStdin()).Decode(&request); err != nil {
				return err
			}
			answer, err := do(cmd.Context(), request)
			if err != nil {
				return err
			}
			b, err := json.Marshal(answer)
			if err != nil {
				return err
			}
			return os.WriteFile(report, b, 0o600)
		},
	}
	cmd.Flags().StringVar(&report, "report", "", "")
	return cmd
}

func main() {
	if status, ours := compilers.Step(os.Args); ours {
		os.Exit(status)
	}
	if status, ours := launch.Step(os.Args[1:]); ours {
		os.Exit(status)
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
