package main

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/rebuild"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/scoreboard"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/trusts"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/web"
	"github.com/kernstash/kernstash/worker"
)

func lsCommand(a *cli.App) *cobra.Command {
	var o entries.ListOptions
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List what is in the cache",
		Long: `List the entries of the cache, those first that saved most time, by the records that
processes leave ('kernstash why', setting records). Where no time was saved they come
as they are found. Either way the first are shown at once, however large the cache is, and so
they are by size, cost, used and age, where a large cache was sorted before: the first
command that does that reads all entries. By name all are read each time. SIZE is how long the files of
an entry are; what they take of the limit, in blocks and directories, 'kernstash stat'
says of all together. A terminal shows as much of a line as it has room for; --long, and
output to anything else, all of it.

What frameworks keep in their own caches, where 'kernstash run' has switched them on,
is a line each, in the end.

--app lists what an application used, the most valuable first: what its builds took, and
what was saved. A program has the name of its file, one of an interpreter that of its
script or module. ` + filterHelp + `

--tree shows the entries by device and driver: what each takes and saved, and of each
driver the 20 entries that saved most.

With --json each entry is one JSON object on a line of its own. An entry that
cannot hit, because it is damaged or of another version, is marked with why.` +
			exits("listed", "the cache could not be read"),
		Example: `  kernstash ls
  kernstash ls --sort size --long
  kernstash ls --app hashcat --older 30
  kernstash ls --driver '580.*' --larger 1MiB
  kernstash ls --tree
  kernstash ls --json | jq -s 'map(.size) | add'`,
		PreRunE: func(*cobra.Command, []string) error {
			if o.Tree && (o.Sort != "" || o.Long) {
				return cli.Usagef("ls --tree: it has an order and columns of its own: give neither --sort nor --long")
			}
			return entries.CheckOrder(o.Sort)
		},
		RunE: a.OnCache(func(ctx context.Context, c cli.Cache) error { return entries.List(ctx, c, o) }),
	}
	cmd.Flags().BoolVarP(&o.Long, "long", "l", false, "show device, applications, times and place as well")
	cmd.Flags().StringVar(&o.Sort, "sort", "", "in this `ORDER`: "+strings.Join(entries.Orders, ", ")+"; the most, and the oldest, first")
	cmd.Flags().BoolVar(&o.Tree, "tree", false, "show them by device and driver")
	filterFlags(a, cmd, &o.Filter)
	completeFlag(cmd, "sort", entries.Orders)
	return cmd
}

// filterHelp says what the flags of a filter mean.
const filterHelp = `Entries have to be what all of --app, --api, --device, --driver,
--kernel, --older and --larger ask for. In these texts * stands for any characters, and ? for
one. Without these --device, --driver and --kernel are parts of names, in upper or lower case, and
--app and --api whole names. Compilers that need no device have no driver.`

// filterFlags adds the flags of a filter.
func filterFlags(a *cli.App, cmd *cobra.Command, f *entries.Filter) {
	f.Bind(cmd.Flags())
	completeApp(a, cmd)
	for _, name := range []string{"api", "device", "driver", "kernel", "older", "larger"} {
		completeFlag(cmd, name, nil)
	}
}

func duCommand(a *cli.App) *cobra.Command {
	var f entries.Filter
	by := entries.Kinds[0]
	cmd := &cobra.Command{
		Use:   "du",
		Short: "Say what each application, device or driver takes, and what that saved",
		Long: `Add up the entries of each application, or with --by device or driver of each of those,
the largest first: how long their files are, how many there are, the time that it took to
build them, as it takes again after an update of the driver, and the time that they saved. An entry that several applications used counts for each of them, and once in the last line;
"unknown" are entries that nobody used since there are records.

` + filterHelp +
			exits("printed", "the cache could not be read"),
		Example: `  kernstash du
  kernstash du --by driver
  kernstash du --by device --app hashcat --json`,
		PreRunE: func(*cobra.Command, []string) error {
			if !slices.Contains(entries.Kinds, by) {
				return cli.Usagef("--by %s: want %s", by, strings.Join(entries.Kinds, ", "))
			}
			return nil
		},
		RunE: a.OnCache(func(ctx context.Context, c cli.Cache) error { return entries.Usage(ctx, c, by, f) }),
	}
	cmd.Flags().StringVar(&by, "by", by, "add up by this `KIND`: "+strings.Join(entries.Kinds, ", "))
	completeFlag(cmd, "by", entries.Kinds)
	filterFlags(a, cmd, &f)
	return cmd
}

func showCommand(a *cli.App) *cobra.Command {
	var o entries.ShowOptions
	cmd := &cobra.Command{
		Use:   "show KEY",
		Short: "Show an entry: what it was built from, and what came out",
		Long: `Show one entry: its device and compiler, options, constants, kernels with their
arguments, build log, sizes and times. KEY is the key that 'kernstash ls' shows,
or as much of its beginning as is unambiguous. "reproduce" are commands that build it
again, where its device, driver and header files are, or why 'kernstash build' cannot.

--disassemble prints its machine code instead, by the tool for it that is installed
(nvdisasm, cuobjdump, llvm-objdump, ocloc, objdump), for 30 seconds and 16 MiB of text at
most for each piece of code; what is text already as it is.` +
			exits("shown", "there is no such entry, or it cannot be read", "more than one key begins like this"),
		Example: `  kernstash show 3f2a
  kernstash show 3f2a --source > kernel.cl
  kernstash show 3f2a --disassemble
  kernstash show 3f2a --json`,
		Args: wants(1, 1, "show: give the key of one entry, as 'kernstash ls' shows it"),
		PreRunE: func(_ *cobra.Command, args []string) error {
			if o.Source && o.Disassemble {
				return cli.Usagef("show --source --disassemble: only one of them")
			}
			return entries.CheckKey(args[0])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnCache(func(ctx context.Context, c cli.Cache) error {
				return entries.Show(ctx, c, args[0], o)
			})(cmd, args)
		},
		ValidArgsFunction: completeKeys(a, 1),
	}
	cmd.Flags().BoolVar(&o.Source, "source", false, "print the code that it was built from, nothing else")
	cmd.Flags().BoolVar(&o.Disassemble, "disassemble", false, "print its machine code, disassembled, nothing else")
	cmd.Flags().BoolVarP(&o.Verbose, "verbose", "v", false, "show the build ids of compilers as well")
	return cmd
}

// completeKeys completes up to most arguments with keys.
func completeKeys(a *cli.App, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return entries.Keys(cmd.Context(), a, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

func checkKeys(_ *cobra.Command, args []string) error {
	for _, key := range args {
		if err := entries.CheckKey(key); err != nil {
			return err
		}
	}
	return nil
}

func pinCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "pin [KEY…]",
		Short: "Keep entries from being removed",
		Long: `Keep entries from eviction, from 'kernstash gc' unless they are damaged, and from
'kernstash clear' without --force; then list what is pinned. KEY is the beginning of a key,
as 'kernstash ls' shows it. Without one it only lists.

A pin is of the key: an entry that goes all the same is pinned again when it is next stored.
What is pinned counts for the limit. Where that takes all of it nothing else is stored.` +
			exits("pinned, and listed", "there is no such entry, or the cache cannot be written", "more than one key begins like this"),
		Example: `  kernstash pin 3f2a 81c0
  kernstash pin --json`,
		Args:    wants(0, math.MaxInt, ""),
		PreRunE: checkKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnCache(func(ctx context.Context, c cli.Cache) error { return entries.Pin(ctx, c, args) })(cmd, args)
		},
		ValidArgsFunction: completeKeys(a, math.MaxInt),
	}
}

func unpinCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "unpin KEY…",
		Short: "Undo pin",
		Long: `Let entries be removed again that 'kernstash pin' kept, whether they are there or not; then
list what is pinned still.` +
			exits("not pinned any more", "it was not pinned, or the cache cannot be written", "more than one pinned key begins like this"),
		Example: `  kernstash unpin 3f2a`,
		Args:    wants(1, math.MaxInt, "unpin: which keys? 'kernstash pin' lists what is pinned"),
		PreRunE: checkKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnCache(func(ctx context.Context, c cli.Cache) error { return entries.Unpin(ctx, c, args) })(cmd, args)
		},
		ValidArgsFunction: completeKeys(a, math.MaxInt),
	}
}

func statCommand(a *cli.App) *cobra.Command {
	var verbose, reset bool
	var html string
	cmd := &cobra.Command{
		Use:     "stat",
		Aliases: []string{"stats", "status"},
		Short:   "Print what the cache saved, for whom, and how full it is",
		Long: `Print whether the cache is on, what it saved today, in the last seven days and in
all, how many programs it had, the five applications that it saved most, its size and
its limit, and the last thing that went wrong. Nothing is looked through, so a cache of
any size answers at once. What was saved by day and by application is of the records that
processes leave ('kernstash why', setting records).

-v adds all that processes have counted: how many requests each tier answered, why
requests missed, and what was not stored and why. A miss is explained by the entry that
is nearest to it: what differs between the two is why it missed. Entries of older
versions of kernstash, which are misses, are looked for in a part of a large cache.
--json has all of that, and each day of a year on which anything was recorded.

--html writes the first page of 'kernstash serve' as one file instead, which needs no other.` +
			exits("printed", "the cache is off or cannot be read; the message says why"),
		Example: `  kernstash stat
  kernstash stat -v
  kernstash stat --json | jq .days
  kernstash stat --reset
  kernstash stat --html stash.html`,
		RunE: a.OnCache(func(ctx context.Context, c cli.Cache) error {
			switch {
			case html == "":
				return scoreboard.Stat(ctx, c, verbose, reset)
			case reset:
				return cli.Usagef("--html --reset: only one of them")
			case verbose:
				return cli.Usagef("--html -v: only one of them")
			}
			return web.WriteFile(ctx, c, html)
		}),
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "print everything that was counted, too")
	cmd.Flags().BoolVar(&reset, "reset", false, "print what was until now, and set the counts, and the totals of days and applications, to zero")
	cmd.Flags().StringVar(&html, "html", "", "write a page with the same into `FILE`")
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
	var o entries.RemoveOptions
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
over the setting frameworks-max-size. What is pinned ('kernstash pin') stays unless it can
never hit.

With a filter only entries of it go, those that are old, damaged or of older versions, and
none for the limit. ` + filterHelp + `

--dry-run removes nothing, and lists the entries that would go.` +
			exits("done", "the cache could not be cleaned"),
		Example: `  kernstash gc
  kernstash gc --dry-run
  kernstash gc --max-size 1GiB --max-age 7
  kernstash gc --app hashcat --max-age 7 --dry-run`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("max-size") {
				if !o.All() {
					return cli.Usagef("gc --max-size %s: the limit is for all entries: it goes with no filter", maxSize)
				}
				a.Set = append(a.Set, "max-size="+maxSize)
			}
			if cmd.Flags().Changed("max-age") {
				a.Set = append(a.Set, "threshold="+maxAge)
			}
			return a.OnCache(func(ctx context.Context, c cli.Cache) error { return entries.GC(ctx, c, o) })(cmd, nil)
		},
	}
	cmd.Flags().StringVar(&maxSize, "max-size", "", "limit for this run: a `SIZE` such as 1GiB; 0 = none")
	cmd.Flags().StringVar(&maxAge, "max-age", "", "`DAYS` without use, or a time such as 12h; 0 = keep however old")
	cmd.Flags().BoolVarP(&o.DryRun, "dry-run", "n", false, "only list what would be removed")
	cmd.Flags().BoolVar(&o.Force, "force", false, "remove what is pinned, too")
	filterFlags(a, cmd, &o.Filter)
	return cmd
}

func clearCommand(a *cli.App) *cobra.Command {
	var o entries.RemoveOptions
	var signedBy []string
	cmd := &cobra.Command{
		Use:     "clear",
		Aliases: []string{"clean"},
		Short:   "Remove every entry, or those of an application, a driver, …",
		Long: `Remove every entry of the cache, and what frameworks keep there in their own
caches. Statistics stay, and so does what is not kernstash's. Programs that run keep what they have; nothing breaks.

With a filter only entries of it go. What other applications used, too, goes as well, and is
counted. ` + filterHelp + `

--signed-by removes only what 'remote pull', or an agent, stored with the signature of a key, which its
fingerprint or a file with the public key names: after it was revoked.

What is pinned ('kernstash pin') stays, and is counted; --force removes it, too.

On a terminal it says what would go, and asks first; elsewhere it wants --yes. --dry-run
removes nothing, and lists the entries that would go.` +
			exits("removed, or not to be removed after all", "it could not be cleared", "neither asked nor told to"),
		Example: `  kernstash clear
  kernstash clear --yes --dir /tmp/stash
  kernstash clear --app hashcat --dry-run
  kernstash clear --driver '580.*' --yes
  kernstash clear --signed-by lost.pub.pem`,
		RunE: a.OnCache(func(ctx context.Context, c cli.Cache) (err error) {
			if o.SignedBy, err = trusts.Fingerprints("clear --signed-by", signedBy); err != nil {
				return err
			}
			if len(signedBy) > 0 && len(o.SignedBy) == 0 {
				return cli.Usagef("clear --signed-by: no key is named")
			}
			return entries.Clear(ctx, c, o)
		}),
	}
	cmd.Flags().StringArrayVar(&signedBy, "signed-by", nil, "only what this `key` signed; may be repeated")
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVarP(&o.DryRun, "dry-run", "n", false, "only list what would be removed")
	cmd.Flags().BoolVar(&o.Force, "force", false, "remove what is pinned, too")
	filterFlags(a, cmd, &o.Filter)
	return cmd
}
