package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/rebuild"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/trusts"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/web"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
)

func lsCommand(a *cli.App) *cobra.Command {
	var o entries.ListOptions
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List what is in the cache",
		Long: `List the entries of the cache. Unsorted, each is shown as soon as it is found,
so a cache of any size begins to appear at once. SIZE is how long the files of an
entry are; what they take of the limit, in blocks and directories, 'kernstash
stat' says of all together.

What frameworks keep in their own caches, where 'kernstash run' has switched them on,
is a line each, in the end.

--app lists what an application used, the most valuable first: what its builds took, and
what was saved. A program has the name of its file, one of an interpreter that of its
script or module. That, and the orders saved and hits, are of the records that processes leave
('kernstash why', setting records); the others look at all entries first.

With --json each entry is one JSON object on a line of its own. An entry that
cannot hit, because it is damaged or of another version, is marked with why.` +
			exits("listed", "the cache could not be read"),
		Example: `  kernstash ls
  kernstash ls --sort size --long
  kernstash ls --app hashcat
  kernstash ls --sort saved
  kernstash ls --json | jq -s 'map(.size) | add'`,
		PreRunE: func(*cobra.Command, []string) error { return entries.CheckOrder(o.Sort) },
		RunE:    a.OnCache(func(ctx context.Context, c cli.Cache) error { return entries.List(ctx, c, o) }),
	}
	cmd.Flags().BoolVarP(&o.Long, "long", "l", false, "show device, applications, times and place as well")
	cmd.Flags().StringVar(&o.Sort, "sort", "", "order: "+strings.Join(entries.Orders, ", ")+"; the most, and the oldest, first")
	appFlag(a, cmd, &o.App, "what this application used")
	completeFlag(cmd, "sort", entries.Orders)
	return cmd
}

func showCommand(a *cli.App) *cobra.Command {
	var source bool
	cmd := &cobra.Command{
		Use:   "show KEY",
		Short: "Show an entry: what it was built from, and what came out",
		Long: `Show one entry: its device and compiler, options, constants, kernels with their
arguments, build log, sizes and times. KEY is the key that 'kernstash ls' shows,
or as much of its beginning as is unambiguous.` +
			exits("shown", "there is no such entry, or it cannot be read", "more than one key begins like this"),
		Example: `  kernstash show 3f2a
  kernstash show 3f2a --source > kernel.cl
  kernstash show 3f2a --json`,
		Args:    wants(1, 1, "show: give the key of one entry, as 'kernstash ls' shows it"),
		PreRunE: func(_ *cobra.Command, args []string) error { return entries.CheckKey(args[0]) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnCache(func(ctx context.Context, c cli.Cache) error {
				return entries.Show(ctx, c, args[0], source)
			})(cmd, args)
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

func statCommand(a *cli.App) *cobra.Command {
	var reset bool
	var html string
	cmd := &cobra.Command{
		Use:     "stat",
		Aliases: []string{"stats", "status"},
		Short:   "Print totals, hit rates, time saved, and why requests missed",
		Long: `Print what the cache holds, by the account that every put keeps, so a cache of any
size answers at once; and what all processes that used it have counted:
how many requests each tier answered, the build time that was saved, why
requests missed, and what was not stored and why. Entries of older versions of
kernstash, which are misses, are looked for in a part of a large cache.

A miss is explained by the entry that is nearest to it: what differs between
the two is why it missed.

--html writes the first page of 'kernstash serve' as one file instead, which needs no other.` +
			exits("printed", "the cache is off or cannot be read; the message says why"),
		Example: `  kernstash stat
  kernstash stat --json
  kernstash stat --reset
  kernstash stat --html stash.html`,
		RunE: a.OnCache(func(ctx context.Context, c cli.Cache) error {
			switch {
			case html == "":
				return entries.Stat(ctx, c, reset)
			case reset:
				return cli.Usagef("--html --reset: only one of them")
			}
			return web.WriteFile(ctx, c, html)
		}),
	}
	cmd.Flags().StringVar(&html, "html", "", "write a page with the same into `FILE`")
	cmd.Flags().BoolVar(&reset, "reset", false, "set the counts to zero afterwards")
	return cmd
}

func verifyCommand(a *cli.App) *cobra.Command {
	var repair, nice bool
	var again int
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Read every entry and check every digest",
		Long: `Read every entry of the cache completely: its digests, that it is where its key
belongs, and that its recipe makes its key. With --repair what can never hit is
removed; the next build stores it anew.

A damaged entry does no harm without this command either: it is found at the
hit, counted, and replaced by the next build.

With --rebuild N build N entries again instead, taken by chance, of those that a device
and compiler here have built, and compare: byte by byte, else the sections with code. A
compiler that is not deterministic is named. The cache stays as it is. Built for
are the devices of: ` + runtimes.BuiltTitles() + `.` +
			exits("every entry is good, or was made so by --repair; code that was built again is equal", "damage, or different code, was found and is still there, or the cache could not be read"),
		Example: `  kernstash verify
  kernstash verify --repair --json
  kernstash verify --rebuild 20`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("rebuild") {
				return a.OnCache(func(ctx context.Context, c cli.Cache) error { return entries.Verify(ctx, c, repair) })(cmd, nil)
			}
			switch {
			case repair:
				return cli.Usagef("--repair --rebuild: only one of them")
			case again < 1 || again > rebuild.MaxCompared:
				return cli.Usagef("--rebuild %d: want 1 to %d entries", again, rebuild.MaxCompared)
			case limit < 0:
				return cli.Usagef("--limit %v: it is negative", limit)
			case !runtimes.Linked:
				return runtimes.ErrNone
			}
			o := worker.Options{NormalPriority: !nice, Limit: limit}
			return a.OnCache(func(ctx context.Context, c cli.Cache) error { return rebuild.Compare(ctx, c, again, o) })(cmd, nil)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&repair, "repair", false, "remove what can never hit")
	flags.IntVar(&again, "rebuild", 0, "build so many entries again, and compare")
	flags.BoolVar(&nice, "nice", false, "with --rebuild: build when nobody else wants the processor")
	flags.DurationVar(&limit, "limit", 10*time.Minute, "with --rebuild: a build that takes longer is ended")
	return cmd
}

func gcCommand(a *cli.App) *cobra.Command {
	var maxSize, maxAge string
	var o disk.GCOptions
	cmd := &cobra.Command{
		Use:     "gc",
		Aliases: []string{"prune"},
		Short:   "Remove what is old, damaged, or over the limit",
		Long: `Remove entries that were not used for longer than the setting threshold, that
can never hit, those of older versions of kernstash that were not used for a day, and
those over the setting max-size, in the order of the setting eviction; then what
killed writers left behind. --max-age and --max-size stand
in for the settings, for this run. Of what frameworks keep in their own caches, where
'kernstash run' has switched them on, goes what was not used for as long, and what is
over the setting frameworks-max-size.` +
			exits("done", "the cache could not be cleaned"),
		Example: `  kernstash gc
  kernstash gc --dry-run
  kernstash gc --max-size 1GiB --max-age 7`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("max-size") {
				a.Set = append(a.Set, "max-size="+maxSize)
			}
			if cmd.Flags().Changed("max-age") {
				a.Set = append(a.Set, "threshold="+maxAge)
			}
			return a.OnCache(func(ctx context.Context, c cli.Cache) error { return entries.GC(ctx, c, o) })(cmd, nil)
		},
	}
	cmd.Flags().StringVar(&maxSize, "max-size", "", "limit for this run, such as 1GiB; 0 = none")
	cmd.Flags().StringVar(&maxAge, "max-age", "", "days without use, or a time such as 12h; 0 = keep however old")
	cmd.Flags().BoolVarP(&o.DryRun, "dry-run", "n", false, "only say what would be removed")
	return cmd
}

func clearCommand(a *cli.App) *cobra.Command {
	var yes bool
	var signedBy []string
	cmd := &cobra.Command{
		Use:     "clear",
		Aliases: []string{"clean"},
		Short:   "Remove every entry",
		Long: `Remove every entry of the cache, and what frameworks keep there in their own
caches. Statistics stay, and so does what is not kernstash's. Programs that run keep what they have; nothing breaks.

--signed-by removes only what 'remote pull', or an agent, stored with the signature of a key, which its
fingerprint or a file with the public key names: after it was revoked.

On a terminal it asks first; elsewhere it wants --yes.` +
			exits("the cache is empty, or was not to be cleared after all", "it could not be cleared", "neither asked nor told to"),
		Example: `  kernstash clear
  kernstash clear --yes --dir /tmp/stash
  kernstash clear --signed-by lost.pub.pem`,
		RunE: a.OnCache(func(ctx context.Context, c cli.Cache) error {
			if len(signedBy) == 0 {
				return entries.Clear(ctx, c, yes)
			}
			keys, err := trusts.Fingerprints("clear --signed-by", signedBy)
			if err != nil {
				return err
			}
			return entries.ClearSignedBy(ctx, c, keys, yes)
		}),
	}
	cmd.Flags().StringArrayVar(&signedBy, "signed-by", nil, "only what this `key` signed; may be repeated")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
