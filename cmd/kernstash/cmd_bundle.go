package main

import (
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/bundles"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/session"
)

func bundleCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "Ship what is in a cache to other machines",
		Long: `Make a bundle of a cache, look into one, and import it elsewhere. A bundle is one
file. Unpacked, it is a directory that programs read as a layer (setting layers):
in an image of a container, on a volume, or on each node.

A bundle names no directory, user or host of the machine that it was made on. What
was compiled, and its source, may: 'bundle inspect --leaks' lists that.` + exits("shown"),
		Example: "  kernstash bundle create kernels.kst",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(bundleCreateCommand(a), bundleInspectCommand(a), bundleImportCommand(a), bundleRestoreCommand(a), bundlePushCommand(a), bundlePullCommand(a))
	return cmd
}

func bundleCreateCommand(a *cli.App) *cobra.Command {
	o := bundles.CreateOptions{By: release}
	cmd := &cobra.Command{
		Use:   "create [flags] [FROM-DIR...] OUT",
		Short: "Make a bundle of a cache",
		Long: `Write a bundle of the entries in the cache, or in the directories FROM-DIR, into the
file OUT, which is replaced. The same entries make the same bytes. What is damaged
is left out, and named.

--filter takes entries by what they are of; of several names all must hold, of one
name's several texts any. --app takes what an application of the cache used, as 'kernstash ls --app'
lists it. --without-source leaves out what they were built from: they
hit, but can neither be imported nor built again. --sign signs the bundle with a key
that 'kernstash keygen' or openssl made.

--harvest adds caches of other tools, as they are: those of ` + strings.Join(bundles.Tools, ", ") + `
where the tools' own variables say, or are by default; NAME=DIR any directory, NAME
being such a tool, the variable that names the directory, or any name. Programs must not
be writing there. 'kernstash bundle restore' unpacks them.` +
			exits("written", "there is no entry for it, or it could not be written"),
		Example: `  kernstash bundle create kernels.kst
  kernstash bundle create --filter driver=580 --filter device=H100 kernels.kst
  kernstash bundle create --app hashcat kernels.kst
  kernstash bundle create --sign release.pem /srv/a /srv/b kernels.kst
  kernstash bundle create --sign key.pem --harvest triton,inductor kernels.kst
  kernstash bundle create --sign key.pem --harvest NAME=/tmp/pocl k.kst`,
		Args: wants(1, math.MaxInt, "bundle create: into which file?"),
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			return bundles.Create(cmd.Context(), a, args[:last], args[last], o)
		},
	}
	filterFlag(cmd, &o.Filters)
	appFlag(a, cmd, &o.App, "what this application used")
	cmd.Flags().BoolVar(&o.WithoutSource, "without-source", false, "leave out what the entries were built from")
	cmd.Flags().StringSliceVar(&o.Harvest, "harvest", nil, "caches of other tools: "+strings.Join(bundles.Tools, ", ")+", or NAME=DIR")
	cmd.Flags().StringVar(&o.Sign, "sign", "", "file with the private key that signs it")
	return cmd
}

func bundleInspectCommand(a *cli.App) *cobra.Command {
	var o bundles.InspectOptions
	cmd := &cobra.Command{
		Use:   "inspect [flags] BUNDLE",
		Short: "Say what is in a bundle, and check it",
		Long: `Say what is in a bundle, a file or a directory: for which devices and drivers, how
much, and who signed it. Every file is read and compared with the manifest.

--here says of each device whether it is on this machine, or what differs from the
nearest one that is: only what fits can hit. --leaks lists paths, but for those of the
system, and the names of this user and machine that are in what was compiled or in
its source.` +
			exits("it is good", "it is damaged, or not signed by a key of --trust"),
		Example: `  kernstash bundle inspect kernels.kst
  kernstash bundle inspect --here /opt/kernels
  kernstash bundle inspect --leaks --json kernels.kst`,
		Args: wants(1, 1, "bundle inspect: which bundle?"),
		RunE: func(cmd *cobra.Command, args []string) error { return bundles.Inspect(cmd.Context(), a, args[0], o) },
	}
	cmd.Flags().BoolVar(&o.Here, "here", false, "say what of it fits this machine, and why the rest does not")
	cmd.Flags().BoolVar(&o.Leaks, "leaks", false, "list paths and names that the files hold")
	trustFlag(cmd, &o.Trust)
	return cmd
}

func bundleImportCommand(a *cli.App) *cobra.Command {
	var trust []string
	var to string
	cmd := &cobra.Command{
		Use:   "import [flags] BUNDLE",
		Short: "Put what a bundle holds into the cache",
		Long: `Put the entries of a bundle, a file or a directory, into the cache. Each is checked
as a hit is. What is there already stays, unless the bundle's is better.

--to unpacks it into a directory instead, which must not be there, for programs to
use as a layer: KERNSTASH_LAYERS=DIR.` +
			exits("imported", "it is damaged, not signed by a key of --trust, or some of it could not be stored"),
		Example: `  kernstash bundle import kernels.kst
  kernstash bundle import --trust release.pub.pem kernels.kst
  kernstash bundle import --to /opt/kernels kernels.kst`,
		Args: wants(1, 1, "bundle import: which bundle?"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("to") && to == "" {
				return cli.Usagef("bundle import: --to: the name of the directory is empty")
			}
			return bundles.Import(cmd.Context(), a, args[0], to, trust)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "unpack it into this directory, as a layer")
	trustFlag(cmd, &trust)
	return cmd
}

func bundleRestoreCommand(a *cli.App) *cobra.Command {
	var trust []string
	var to, shell string
	cmd := &cobra.Command{
		Use:   "restore [flags] BUNDLE",
		Short: "Unpack a bundle for the user's programs, with the caches of other tools",
		Long: `Unpack a bundle into a directory that nobody but the user may enter, and print the
variables that have programs use it: as a layer, and the caches of other tools that it
holds, which they go on writing to. A bundle that was restored before is taken as it is.
The directory is never removed.

Caches of other tools hold programs, and pickles, which run when they are read: they are
restored only where a key of --trust has signed the bundle.` +
			exits("restored", "it is damaged, not signed by a key of --trust, or could not be written"),
		Example: `  eval "$(kernstash bundle restore --trust release.pub.pem kernels.kst)"
  kernstash bundle restore --trust release.pub.pem --to /scratch/kernels \
    --shell fish kernels.kst`,
		Args: wants(1, 1, "bundle restore: which bundle?"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("to") && to == "" {
				return cli.Usagef("bundle restore: --to: the name of the directory is empty")
			}
			line, err := session.Line(shell)
			if err != nil {
				return err
			}
			return bundles.Restore(cmd.Context(), a, args[0], to, trust, line)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the directory, in place of one below the user's directory for caches")
	cmd.Flags().StringVar(&shell, "shell", "sh", "sh, bash, zsh, fish, systemd, docker or k8s")
	completeFlag(cmd, "shell", session.Shells())
	trustFlag(cmd, &trust)
	return cmd
}

func bundlePushCommand(a *cli.App) *cobra.Command {
	var trust []string
	cmd := &cobra.Command{
		Use:   "push [flags] BUNDLE REFERENCE",
		Short: "Push a bundle to a registry of images",
		Long: `Push a bundle, a file, to a registry, as an ordinary image of one layer: nodes mount it as a
volume, or copy from it in a Dockerfile, and cosign signs it as any other. Who may push is
what 'docker login' or 'podman login' wrote down.` +
			exits("pushed", "it is damaged, not signed by a key of --trust, or the registry refused it"),
		Example: "  kernstash bundle push kernels.kst registry.example.com/team/kernels:580",
		Args:    wants(2, 2, "bundle push: which bundle, and where to?"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return bundles.Push(cmd.Context(), a, args[0], args[1], trust)
		},
	}
	trustFlag(cmd, &trust)
	return cmd
}

func bundlePullCommand(a *cli.App) *cobra.Command {
	var trust []string
	cmd := &cobra.Command{
		Use:   "pull [flags] REFERENCE OUT",
		Short: "Pull a bundle from a registry of images",
		Long: `Pull a bundle from a registry into the file OUT, which is replaced once all of it was
checked.` + exits("pulled", "there is none, it is damaged, or not signed by a key of --trust"),
		Example: `  kernstash bundle pull registry.example.com/team/kernels:580 kernels.kst
  kernstash bundle pull --trust release.pub.pem \
    registry.example.com/team/kernels:580 kernels.kst`,
		Args: wants(2, 2, "bundle pull: which image, and into which file?"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return bundles.Pull(cmd.Context(), a, args[0], args[1], trust)
		},
	}
	trustFlag(cmd, &trust)
	return cmd
}

func trustFlag(cmd *cobra.Command, files *[]string) {
	cmd.Flags().StringArrayVar(files, "trust", nil, "file with public keys, one of which must have signed it")
}

func keygenCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "keygen NAME",
		Short: "Make a key that signs bundles, and what remotes get",
		Long: `Make an Ed25519 key: NAME.pem, which signs and is to be kept secret, and NAME.pub.pem,
which those who check have. Both are PEM, as openssl writes it. Neither is replaced
where it is there.` + exits("made", "one of the files is there, or cannot be written"),
		Example: "  kernstash keygen release",
		Args:    wants(1, 1, "keygen: what is the key called?"),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "" {
				return cli.Usagef("keygen: the name is empty")
			}
			return bundles.Keygen(a, args[0])
		},
	}
}
