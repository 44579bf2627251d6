package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/bundles"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/remotes"
	"github.com/kernstash/kernstash/internal/settings"
)

func remoteCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remote",
		Short: "Share entries with other machines: Redis, S3, HTTP, a shared directory",
		Long: `Look at the remotes that the setting remote names, put entries there, get them from
there, and remove them. docs/FLEET.md says how remotes are set up.

All of it is done as the tenant that the settings name. Secrets in addresses are not
shown.` + exits("shown"),
		Example: "  KERNSTASH_REMOTE=redis://cache:6379 kernstash remote ping",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(remotePingCommand(a), remoteStatCommand(a), remoteListCommand(a), remotePushCommand(a), remotePullCommand(a), remoteGCCommand(a))
	return cmd
}

func remotePingCommand(a *cli.App) *cobra.Command {
	var only string
	var write bool
	cmd := &cobra.Command{
		Use:   "ping",
		Short: "Say whether the remotes answer, and what may be done there",
		Long: `Say of each remote how long a call takes, at best, and whether objects may be read, written
and listed, and leases be had. An object is written, read, and deleted for that. Where the
remote tells the time its clock is compared with this machine's. Each call has the time of
the setting remote-timeout.

Where a list of trusted keys is set, the key that signs what is put has to be on it.` +
			exits("all can be read", "one cannot be read, or, with --write, not be written; or what is put here is not trusted here"),
		Example: `  kernstash remote ping
  kernstash remote ping --write --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return remotes.Ping(cmd.Context(), a, only, write) },
	}
	cmd.Flags().BoolVar(&write, "write", false, "a remote that cannot be written is a failure")
	remoteFlag(cmd, &only)
	return cmd
}

func remoteStatCommand(a *cli.App) *cobra.Command {
	var only string
	var all bool
	cmd := &cobra.Command{
		Use:   "stat",
		Short: "Say how much there is in the remotes",
		Long: `Say how many entries and lists of header files the tenant has in each remote, and how
long they are.` + exits("said", "a remote cannot be listed"),
		Example: `  kernstash remote stat
  kernstash remote stat --tenants --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return remotes.Stat(cmd.Context(), a, only, all) },
	}
	cmd.Flags().BoolVar(&all, "tenants", false, "of all tenants, where they may be listed")
	remoteFlag(cmd, &only)
	return cmd
}

func remoteListCommand(a *cli.App) *cobra.Command {
	var o remotes.Selection
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List what is in the remotes",
		Long: `List the entries of the tenant in each remote, with the key that signed each. Each is read
for that, and marked where it cannot hit. With --json each entry is an object on a line.` +
			exits("listed", "a remote cannot be listed"),
		Example: `  kernstash remote ls
  kernstash remote ls --filter driver=580 --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return remotes.List(cmd.Context(), a, o.Remote, o.Filters)
		},
	}
	selectionFlags(cmd, &o)
	return cmd
}

func remotePushCommand(a *cli.App) *cobra.Command {
	var o remotes.PushOptions
	cmd := &cobra.Command{
		Use:   "push",
		Short: "Put the cache's entries into the remotes",
		Long: `Put the entries of the cache, or those that --filter or --keys ask for, into each remote,
signed with the key of the setting remote-sign-key, and the lists of header files that are
needed to find them. What is there stays, unless the cache's is better. What is too large
for a remote is left to the others.

--app NAME puts what the application NAME is recorded to have used here ('ls --app'), and
says so, as --as does.

With --as NAME each remote learns that the application NAME uses these entries, and those
that --keys names and the remote alone has: 'run --prefetch' and 'remote pull --app' get them
in one go. It replaces what was said of NAME before. Where a remote gives objects one by one
a pack of up to 64 MiB holds them all once more.` +
			exits("all are there", "some could not be put there, or a remote does not answer"),
		Example: `  kernstash remote push --dry-run
  kernstash remote push --filter device=H100 --filter driver=580
  kernstash remote push --app hashcat
  kernstash remote push --as hashcat --keys hashcat.keys`,
		RunE: a.OnCache(func(ctx context.Context, c cli.Cache) error { return remotes.Push(ctx, c, o) }),
	}
	selectionFlags(cmd, &o.Selection)
	cmd.Flags().BoolVarP(&o.DryRun, "dry-run", "n", false, "only say what would be put")
	cmd.Flags().StringVar(&o.Keys, "keys", "", "a file of the keys to put")
	cmd.Flags().StringVar(&o.App, "app", "", "put what the application `NAME` has used here")
	cmd.Flags().StringVar(&o.As, "as", "", "say that the application `NAME` uses them")
	return cmd
}

func remotePullCommand(a *cli.App) *cobra.Command {
	var o remotes.PullOptions
	cmd := &cobra.Command{
		Use:   "pull",
		Short: "Get entries from the remotes into the cache",
		Long: `Get the entries of the tenant, or those that --filter or --keys ask for, into the cache,
many at a time, and, unless it is by --keys, the lists of header files that are needed to
find them. Each is checked as a hit is. --keys is a file of keys, one a line, "-" being
standard input: what the first remote does not have the next one is asked for.

--app NAME gets what the application NAME is known to use ('remote push --as'), as far as it
is not here.` +
			exits("all are here, but for those that no remote has", "some are damaged, or not signed by a key that counts; a remote does not answer; or\n     none knows the application"),
		Example: `  kernstash remote pull --filter device=H100
  kernstash remote pull --app hashcat
  kernstash ls --json | jq -r .key | kernstash remote pull --keys - --dir /mnt/b`,
		RunE: a.OnCache(func(ctx context.Context, c cli.Cache) error {
			if o.App != "" && (len(o.Filters) > 0 || o.Keys != "" || o.DryRun) {
				return cli.Usagef("--app says by itself what to get: it goes with neither --filter, --keys nor --dry-run")
			}
			return remotes.Pull(ctx, c, o)
		}),
	}
	selectionFlags(cmd, &o.Selection)
	cmd.Flags().BoolVarP(&o.DryRun, "dry-run", "n", false, "only say what would be put into the cache")
	cmd.Flags().StringVar(&o.Keys, "keys", "", "a file of the keys to get")
	cmd.Flags().StringVar(&o.App, "app", "", "get what the application `NAME` is known to use")
	return cmd
}

func remoteGCCommand(a *cli.App) *cobra.Command {
	var o remotes.GCOptions
	var age string
	var driver, device, key []string
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove entries from the remotes",
		Long: `Remove entries of the tenant from each remote: those written longer ago than --older-than,
those of a driver, a device or a key, those that cannot hit, or all. It never touches
another tenant. On a terminal it asks first; elsewhere it wants --yes.

Who removes what others use makes them build it again, and nothing worse.` +
			exits("removed", "a remote cannot be listed, or written"),
		Example: `  kernstash remote gc --older-than 30d --dry-run
  kernstash remote gc --driver 570 --yes
  kernstash remote gc --other-versions --older-than 90d --yes`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if age != "" {
				d, err := settings.ParseDays(age)
				if err != nil || d == 0 {
					return cli.Usagef("--older-than %s: want a number of days such as 30, or a time such as 12h", age)
				}
				o.OlderThan = d
			}
			for name, texts := range map[string][]string{"driver": driver, "device": device, "key": key} {
				for _, text := range texts {
					if text == "" {
						return cli.Usagef("--%s: it is empty", name)
					}
					o.Filters = append(o.Filters, name+"="+strings.ToLower(text))
				}
			}
			return remotes.GC(cmd.Context(), a, o)
		},
	}
	selectionFlags(cmd, &o.Selection)
	flags := cmd.Flags()
	flags.StringVar(&age, "older-than", "", "days, or a time, since it was written")
	flags.StringArrayVar(&driver, "driver", nil, "the same as --filter driver=TEXT")
	flags.StringArrayVar(&device, "device", nil, "the same as --filter device=TEXT")
	flags.StringArrayVar(&key, "key", nil, "the same as --filter key=TEXT: the beginning of a key")
	flags.BoolVar(&o.Bad, "bad", false, "what is damaged, or not signed by a key that counts")
	flags.BoolVar(&o.Versions, "other-versions", false, "what other versions of kernstash have put")
	flags.BoolVar(&o.All, "all", false, "everything of the tenant")
	flags.BoolVarP(&o.DryRun, "dry-run", "n", false, "only say what would be removed")
	flags.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	return cmd
}

func remoteFlag(cmd *cobra.Command, only *string) {
	cmd.Flags().StringVar(only, "remote", "", "one of the remotes alone: its number, or the beginning of its address")
}

// selectionFlags adds those that say which entries are meant.
func selectionFlags(cmd *cobra.Command, o *remotes.Selection) {
	remoteFlag(cmd, &o.Remote)
	filterFlag(cmd, &o.Filters)
}

func filterFlag(cmd *cobra.Command, filters *[]string) {
	cmd.Flags().StringArrayVar(filters, "filter", nil, "entries of NAME=TEXT alone; NAME is "+strings.Join(bundles.Filters, ", "))
	var names []string
	for _, f := range bundles.Filters {
		names = append(names, f+"=")
	}
	_ = cmd.RegisterFlagCompletionFunc("filter", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp))
}
