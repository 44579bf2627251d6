package main

import (
	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
)

func lsCommand(a *cli.App) *cobra.Command {
	var long bool
	var sort string
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List what is in the cache",
		Long: `List the entries of the cache. Unsorted, each is shown as soon as it is found,
so a cache of any size begins to appear at once. SIZE is how long the files of an
entry are; what they take of the limit, in blocks and directories, 'kernstash
stat' says of all together.

With --json each entry is one JSON object on a line of its own. An entry that
cannot hit, because it is damaged or of another version, is marked with why.

EXIT STATUS
  0  listed
  1  the cache could not be read
  2  a flag makes no sense`,
		Example: `  kernstash ls
  kernstash ls --sort size --long
  kernstash ls --json | jq -s 'map(.size) | add'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return entries.List(cmd.Context(), a, long, sort) },
	}
	cmd.Flags().BoolVarP(&long, "long", "l", false, "show device, times and place as well")
	cmd.Flags().StringVar(&sort, "sort", "", "order: size, age, cost (largest and oldest first) or name")
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions([]string{"size", "age", "cost", "name"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
