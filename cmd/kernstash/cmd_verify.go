package main

import (
	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
)

func verifyCommand(a *cli.App) *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Read every entry and check every digest",
		Long: `Read every entry of the cache completely: its digests, that it is where its key
belongs, and that its recipe makes its key. With --repair what can never hit is
removed; the next build stores it anew.

A damaged entry does no harm without this command either: it is found at the
hit, counted, and replaced by the next build.

EXIT STATUS
  0  every entry is good, or was made so by --repair
  1  damage was found and is still there, or the cache could not be read`,
		Example: `  kernstash verify
  kernstash verify --repair --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return entries.Verify(cmd.Context(), a, repair) },
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "remove what can never hit")
	return cmd
}
