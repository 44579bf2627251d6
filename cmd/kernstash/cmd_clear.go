package main

import (
	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
)

func clearCommand(a *cli.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "clear",
		Short: "Remove every entry",
		Long: `Remove every entry of the cache. Statistics stay, and so does what is not
kernstash's. Programs that run keep what they have; nothing breaks.

On a terminal it asks first; elsewhere it wants --yes.

EXIT STATUS
  0  the cache is empty, or was not to be cleared after all
  1  it could not be cleared
  2  neither asked nor told to`,
		Example: `  kernstash clear
  kernstash clear --yes --dir /tmp/stash`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return entries.Clear(cmd.Context(), a, yes) },
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
