package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/diff"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
)

func diffCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "diff A B",
		Short: "Say in what two entries differ, or two runs",
		Long: `Compare two entries, A and B being keys as 'kernstash ls' shows them, or as much of
their beginnings as is unambiguous. Of each component of the key that differs it says in
what: the driver, the compiler, the source and each header, the options, the constants,
the variables. "X was Y" means that B has X where A has Y.

Or compare two runs, A and B being files that 'kernstash run --report-file' wrote, or
what 'kernstash report --json' made of them, on two machines perhaps: the programs that
one run loaded and the other had to compile, with the reasons, and those that one alone
asked for. Programs of different keys are the same where their kernels are.

What is hexadecimal digits alone is a key: a file of such a name is given as ./NAME.` +
			exits("said", "there is no such entry or file, or it cannot be read", "more than one key begins like this, or an entry is compared with a run"),
		Example: `  kernstash diff 3f2a 9b1c
  kernstash diff warm.json cold.json
  kernstash diff warm.json cold.json --json`,
		Args: wants(2, 2, "diff: give two keys, or two reports of runs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys := [2]bool{entries.CheckKey(args[0]) == nil, entries.CheckKey(args[1]) == nil}
			switch {
			case keys[0] != keys[1]:
				return cli.Usagef("diff %s %s: give two keys, or two reports of runs", args[0], args[1])
			case keys[0]:
				return a.OnCache(func(ctx context.Context, c cli.Cache) error { return diff.Entries(ctx, c, [2]string(args)) })(cmd, nil)
			}
			return diff.Runs(a, [2]string(args))
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 1 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return entries.Keys(cmd.Context(), a, typed), cobra.ShellCompDirectiveDefault
		},
	}
}
