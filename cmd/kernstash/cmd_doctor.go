package main

import (
	"cmp"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/configfile"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/doctor"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
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

With a command it runs that as 'kernstash run' does, with the cache, and names the
compilers that it and all that it starts really load, and start as programs: those
that are served, with what the cache was asked for of each, what was found, why the
rest was not, and the time that it waited, longest first; and those that are not
served, and why. (The dynamic linker says what is loaded: static programs, and those
with rights that you have not, cannot be seen, nor what a program has linked into
itself.) With --json the command's output goes to standard error.` +
			exits("caching works; the command was run", "something is wrong, or there is no device; the report says what, and what to do"),
		Example: `  kernstash doctor
  kernstash doctor --quick
  kernstash doctor --dir /mnt/shared/stash --json
  kernstash doctor -- python3 train.py
  kernstash doctor --json -- python3 train.py | jq '.uses[] | {what, spent_ms}'`,
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

func configCommand(a *cli.App) *cobra.Command {
	var explain bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print every setting with who decided it, or change one",
		Long: `Print every setting with its value in force and its origin.

A setting comes from the last of these that has it: its default, the settings
file ($XDG_CONFIG_HOME/kernstash/config.json, else ~/.config/kernstash/config.json),
the program that uses the library, the environment (KERNSTASH_…), a flag.
KERNSTASH_DISABLE=1 in the environment stands above all. A switch takes 1, true, yes or
on, and 0, false, no or off.

'config get', 'set' and 'unset' are for single settings. The settings file is a JSON object of names and values:
  {"max-size": "10GiB", "eviction": "lru", "layers": ["/opt/kernels"]}` +
			exits("all settings make sense", "one does not; the message names it, its value, and what is accepted"),
		Example: `  kernstash config
  kernstash config --explain
  KERNSTASH_MAX_SIZE=1GiB kernstash config --json`,
		RunE: func(*cobra.Command, []string) error { return showConfig(a, explain) },
	}
	cmd.Flags().BoolVar(&explain, "explain", false, "say what each setting means and accepts")
	cmd.AddCommand(configGetCommand(a), configSetCommand(a), configUnsetCommand(a))
	return cmd
}

func configGetCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "get NAME...",
		Short: "Print the values of settings",
		Long: `Print the value in force of each setting that is named, on a line of its own, whoever
decided it. --json says that, too.` +
			exits("printed", "a setting does not make sense", "there is no such setting"),
		Example: `  kernstash config get max-size
  kernstash config get dir KERNSTASH_MODE --json`,
		Args:              wants(1, math.MaxInt, "config get: which settings?"),
		RunE:              func(_ *cobra.Command, args []string) error { return configfile.Get(a, args) },
		ValidArgsFunction: completeSettings,
	}
}

func configSetCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "set NAME VALUE",
		Short: "Give a setting a value in the settings file",
		Long: `Give a setting a value in the settings file, the user's or that of --config, which is
made if need be. All else in it stays as it is, in its order and on its lines. A value
that is not accepted changes nothing. What the environment says stands above the file:
then a warning says so.

A value that begins with - comes behind --.` +
			exits("it is in the file", "the file cannot be read or written", "there is no such setting, or the value is not accepted"),
		Example: `  kernstash config set max-size 10GiB
  kernstash config set layers /opt/kernels:/srv/kernels
  kernstash config set append-compile-options -- -cl-mad-enable`,
		Args: wants(2, 2, "config set: give a setting and its value"),
		RunE: func(_ *cobra.Command, args []string) error { return configfile.Set(a, args[0], args[1]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return completeSettings(cmd, args, typed)
		},
	}
}

func configUnsetCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "unset NAME",
		Short: "Take a setting out of the settings file",
		Long: `Take a setting out of the settings file, the user's or that of --config. A name in it that
is no setting goes as well.` +
			exits("it is not in the file", "the file cannot be read or written", "there is no such setting"),
		Example:           "  kernstash config unset max-size",
		Args:              wants(1, 1, "config unset: which setting?"),
		RunE:              func(_ *cobra.Command, args []string) error { return configfile.Unset(a, args[0]) },
		ValidArgsFunction: completeSettings,
	}
}

// completeSettings completes the names of settings.
func completeSettings(*cobra.Command, []string, string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	s, _ := settings.Load(settings.Inputs{Environ: []string{}})
	for _, item := range s.All() {
		names = append(names, item.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// configReport is what `config --json` writes.
type configReport struct {
	File     string          `json:"file,omitempty"`
	Settings []settings.Item `json:"settings"`
	Warnings []string        `json:"warnings,omitempty"`
}

func showConfig(a *cli.App, explain bool) error {
	s, err := a.Settings()
	if err != nil {
		return err
	}
	if a.JSON {
		report := configReport{File: s.File, Settings: s.All()}
		for _, w := range s.Warnings {
			report.Warnings = append(report.Warnings, w.Error())
		}
		return a.WriteJSON(report)
	}
	t := a.Terminal()
	line := func(name, text string) {
		const indent = 14
		a.Printf("%s", human.WrapBehind(fmt.Sprintf("    %-*s", indent-4, name), human.Printable(text, false), indent, t.Width))
	}
	var rows [][]string
	for _, item := range s.All() {
		value := human.Printable(cmp.Or(item.Value, "–"), false)
		if !explain {
			rows = append(rows, []string{item.Variable, value, item.Origin.String()})
			continue
		}
		a.Printf("%s\n", t.Paint(terminal.Bold, fmt.Sprintf("%s (%s)", item.Variable, item.Name)))
		line("value", fmt.Sprintf("%s, %v", value, item.Origin))
		line("meaning", item.Description)
		line("accepts", item.Accepts)
	}
	if explain {
		return nil
	}
	return terminal.WriteTable(a.Out, []string{"SETTING", "VALUE", "ORIGIN"}, rows)
}
