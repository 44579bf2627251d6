package main

import (
	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/session"
)

func enableCommand(a *cli.App) *cobra.Command {
	var o launch.Options
	var program string
	cmd := &cobra.Command{
		Use:   "enable",
		Short: "Switch the cache on for a user's whole session, or for one application",
		Long: `Have every program of the user's session use the cache, from the next login: the
variables go into $XDG_CONFIG_HOME/environment.d/50-kernstash.conf, which systemd
reads for the session and the user's services.

With --app NAME it is one application: a script ~/.local/bin/NAME starts the
program of that name under 'kernstash run --quiet'. The directory has to come first
in PATH. What starts the program by its full path, as some .desktop files do, is
not reached.

For the session that is ` + runtimes.Layered() + `, through its loader (` + runtimes.Layers().Variable + `): other
runtimes have none with layers, and nothing is to be preloaded into every program.
With --app they are served as well.

Enabling again brings what was written up to date. Files that are not of
'kernstash enable' are never written over.` +
			exits("it is switched on", "it is not; the message says why"),
		Example: `  kernstash enable
  kernstash enable --read-only --dir /srv/kernels
  kernstash enable --app darktable`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("app") {
				return session.EnableApp(a, &o, program)
			}
			return session.EnableSession(a, &o)
		},
	}
	cmd.Flags().StringVar(&program, "app", "", "one application, by the name of its program")
	o.BindSettings(cmd.Flags())
	return cmd
}

func disableCommand(a *cli.App) *cobra.Command {
	var program string
	cmd := &cobra.Command{
		Use:   "disable",
		Short: "Undo what 'kernstash enable' did",
		Long: `Remove what 'kernstash enable' wrote, with the directories that it made and that
are empty. What is in the cache stays.` +
			exits("it is not there any more",
				"it could not be removed, or is not of 'kernstash enable'; or, with --app, the\n     session has the cache, and so the application"),
		Example: `  kernstash disable
  kernstash disable --app darktable`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return session.Disable(a, program, cmd.Flags().Changed("app"))
		},
	}
	cmd.Flags().StringVar(&program, "app", "", "one application, by the name of its program")
	return cmd
}

func envCommand(a *cli.App) *cobra.Command {
	var o launch.Options
	var name string
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the variables that 'kernstash run' sets",
		Long: `Print the variables that bring the cache into programs, for those who set them
themselves:

  sh, bash, zsh, fish  commands for a shell; what its variables hold already is kept
  systemd              lines for the [Service] section of a unit, with a cache
                       directory unless --dir names one
  docker               lines for a Dockerfile
  k8s                  entries for the env list of a container

In containers the paths are those inside: put the libraries there, or give
KERNSTASH_LIBDIR, and mount a cache directory.` +
			exits("printed", "the libraries are not found; the message says where they were looked for"),
		Example: `  eval "$(kernstash env)"
  kernstash env --shell fish | source
  kernstash env --shell systemd --dir /var/cache/kernstash
  kernstash env --json`,
		RunE: func(*cobra.Command, []string) error { return session.PrintEnv(a, &o, name) },
	}
	cmd.Flags().StringVar(&name, "shell", "sh", "sh, bash, zsh, fish, systemd, docker or k8s")
	completeFlag(cmd, "shell", session.Shells())
	o.BindSettings(cmd.Flags())
	completeFlag(cmd, "inject", launch.Injects)
	return cmd
}
