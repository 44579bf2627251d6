package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
)

func configCommand(a *cli.App) *cobra.Command {
	var explain bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print every setting, its value, and who decided it",
		Long: `Print every setting with its value in force and its origin.

A setting comes from the last of these that has it: its default, the settings
file ($XDG_CONFIG_HOME/kernstash/config.json, else ~/.config/kernstash/config.json),
the program that uses the library, the environment (KERNSTASH_…), a flag.
KERNSTASH_DISABLE=1 in the environment stands above all. A switch takes 1, true, yes or
on, and 0, false, no or off.

The settings file is a JSON object of names and values:
  {"max-size": "10GiB", "eviction": "lru", "layers": ["/opt/kernels"]}` +
			exits("all settings make sense", "one does not; the message names it, its value, and what is accepted"),
		Example: `  kernstash config
  kernstash config --explain
  KERNSTASH_MAX_SIZE=1GiB kernstash config --json`,
		RunE: func(*cobra.Command, []string) error { return showConfig(a, explain) },
	}
	cmd.Flags().BoolVar(&explain, "explain", false, "say what each setting means and accepts")
	return cmd
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
	var rows [][]string
	for _, item := range s.All() {
		value := human.Printable(cmp.Or(item.Value, "–"), false)
		if explain {
			explainSetting(a, item, value)
			continue
		}
		rows = append(rows, []string{item.Variable, value, item.Origin.String()})
	}
	if explain {
		return nil
	}
	return terminal.WriteTable(a.Out, []string{"SETTING", "VALUE", "ORIGIN"}, rows)
}

// explainSetting prints all of a setting.
func explainSetting(a *cli.App, item settings.Item, value string) {
	t := a.Terminal()
	line := func(name, text string) {
		const indent = 14
		a.Printf("%s", human.WrapBehind(fmt.Sprintf("    %-*s", indent-4, name), human.Printable(text, false), indent, t.Width))
	}
	a.Printf("%s\n", t.Paint(terminal.Bold, fmt.Sprintf("%s (%s)", item.Variable, item.Name)))
	line("value", fmt.Sprintf("%s, %v", value, item.Origin))
	line("meaning", item.Description)
	line("accepts", item.Accepts)
}
