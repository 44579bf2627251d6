package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/why"
)

// appFlag is the flag that names an application.
func appFlag(a *cli.App, cmd *cobra.Command, app *string, usage string) {
	cmd.Flags().StringVar(app, "app", "", usage)
	completeApp(a, cmd)
}

// completeApp completes the flag with the applications that are known.
func completeApp(a *cli.App, cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("app", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return ledger.Names(cmd.Context(), a), cobra.ShellCompDirectiveNoFileComp
	})
}

func whyCommand(a *cli.App) *cobra.Command {
	var o why.Options
	cmd := &cobra.Command{
		Use:   "why [KEY]",
		Short: "Say why programs were compiled",
		Long: `Print what was compiled although there is a cache, what cost most first, one line each: the
key, what the build took, the application, and why. What was never in the cache is compared with the nearest
entry that was there: the component in which they differ. What was there before was evicted, was
damaged, or was not kept. It is of the last run under 'kernstash run', as 'kernstash report' is,
or, if others have compiled anything since, of the last 30 days; --last and --all say which. KEY is the
beginning of a key, --app names an application; these and --all print all that is known of each.

Processes record that when they end, and once a minute (setting records). The last 10,000
misses of 30 days are kept. 'kernstash forget' erases them.` +
			exits("printed", "the records cannot be read"),
		Example: `  kernstash why
  kernstash why --all
  kernstash why 3f2a
  kernstash why --app train.py`,
		Args: wants(0, 1, "why: of one entry, or of all"),
		PreRunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			o.Key = args[0]
			return entries.CheckKey(o.Key)
		},
		RunE:              a.OnCache(func(ctx context.Context, c cli.Cache) error { return why.Print(ctx, c, o) }),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	appFlag(a, cmd, &o.App, "what this application missed")
	cmd.Flags().BoolVar(&o.All, "all", false, "all of the last 30 days, and all that is known of each")
	cmd.Flags().BoolVar(&o.Last, "last", false, "what the last run under 'kernstash run' missed, whoever has compiled since")
	return cmd
}

func forgetCommand(a *cli.App) *cobra.Command {
	var app string
	var yes bool
	cmd := &cobra.Command{
		Use:   "forget",
		Short: "Erase what was recorded of applications",
		Long: `Erase the records of which applications used what, and of what was missed; or, with
--app, those of one application. The entries stay, and so do the statistics of 'kernstash
stat'. KERNSTASH_RECORDS=0 keeps programs from recording anything.

On a terminal it asks first; elsewhere it wants --yes.` +
			exits("forgotten, or it was not to be after all", "the records cannot be changed", "neither asked nor told to"),
		Example: `  kernstash forget --yes
  kernstash forget --app train.py`,
		RunE: a.OnCache(func(ctx context.Context, c cli.Cache) error { return why.Forget(ctx, c, app, yes) }),
	}
	appFlag(a, cmd, &app, "of this application alone")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
