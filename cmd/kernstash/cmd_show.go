package main

import (
	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
)

func showCommand(a *cli.App) *cobra.Command {
	var source bool
	cmd := &cobra.Command{
		Use:   "show KEY",
		Short: "Show an entry: what it was built from, and what came out",
		Long: `Show one entry: its device and compiler, options, constants, kernels with their
arguments, build log, sizes and times. KEY is the key that 'kernstash ls' shows,
or as much of its beginning as is unambiguous.

EXIT STATUS
  0  shown
  1  there is no such entry, or it cannot be read
  2  more than one key begins like this`,
		Example: `  kernstash show 3f2a
  kernstash show 3f2a --source > kernel.cl
  kernstash show 3f2a --json`,
		Args: exactly(1, "show: give the key of one entry, as 'kernstash ls' shows it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return entries.Show(cmd.Context(), a, args[0], source)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return entries.Keys(cmd.Context(), a, typed), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&source, "source", false, "print the code that it was built from, nothing else")
	return cmd
}
