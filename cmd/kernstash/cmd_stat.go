package main

import (
	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
)

func statCommand(a *cli.App) *cobra.Command {
	var reset bool
	cmd := &cobra.Command{
		Use:   "stat",
		Short: "Print totals, hit rates, time saved, and why requests missed",
		Long: `Print what the cache holds, by the account that every put keeps, so a cache of any
size answers at once; and what all processes that used it have counted:
how many requests each tier answered, the build time that was saved, why
requests missed, and what was not stored and why. Entries of older versions of
kernstash, which are misses, are looked for in a part of a large cache.

A miss is explained by the entry that is nearest to it: what differs between
the two is why it missed.

EXIT STATUS
  0  printed
  1  the cache is off or cannot be read; the message says why`,
		Example: `  kernstash stat
  kernstash stat --json
  kernstash stat --reset`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return entries.Stat(cmd.Context(), a, reset) },
	}
	cmd.Flags().BoolVar(&reset, "reset", false, "set the counts to zero afterwards")
	return cmd
}
