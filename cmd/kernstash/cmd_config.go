package main

import (
	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/internal/settings"
)

func (a *app) configCommand() *cobra.Command {
	var explain bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print every setting, its value, and who decided it",
		Long: `Print every setting with its value in force and its origin.

A setting comes from the last of these that has it: its default, the settings
file ($XDG_CONFIG_HOME/kernstash/config.json, else ~/.config/kernstash/config.json),
the program that uses the library, the environment (KERNSTASH_…), a flag.
KERNSTASH_DISABLE=1 in the environment stands above all.

The settings file is a JSON object of names and values:
  {"max-size": "10GiB", "eviction": "lru", "layers": ["/opt/kernels"]}

EXIT STATUS
  0  all settings make sense
  1  one does not; the message names it, its value, and what is accepted
  2  a flag makes no sense`,
		Example: `  kernstash config
  kernstash config --explain
  KERNSTASH_MAX_SIZE=1GiB kernstash config --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.showConfig(explain) },
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

func (a *app) showConfig(explain bool) error {
	s, err := a.settings()
	if err != nil {
		return err
	}
	if a.json {
		report := configReport{File: s.File, Settings: s.All()}
		for _, w := range s.Warnings {
			report.Warnings = append(report.Warnings, w.Error())
		}
		return a.writeJSON(report)
	}
	head := []string{"SETTING", "VALUE", "ORIGIN"}
	if explain {
		head = append(head, "MEANING", "ACCEPTS")
	}
	t := newTable(head...)
	for _, item := range s.All() {
		value := printable(item.Value, false)
		if value == "" {
			value = "–"
		}
		row := []string{item.Variable, value, item.Origin.String()}
		if explain {
			row = append(row, item.Description, item.Accepts)
		}
		t.add(row...)
	}
	return t.write(a.out)
}
