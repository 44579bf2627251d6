package main

import (
	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/session"
)

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
KERNSTASH_LIBDIR, and mount a cache directory.

EXIT STATUS
  0  printed
  1  the libraries are not found; the message says where they were looked for
  2  a flag makes no sense`,
		Example: `  eval "$(kernstash env)"
  kernstash env --shell fish | source
  kernstash env --shell systemd --dir /var/cache/kernstash
  kernstash env --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return session.PrintEnv(a, cmd, &o, name)
		},
	}
	cmd.Flags().StringVar(&name, "shell", "sh", "sh, bash, zsh, fish, systemd, docker or k8s")
	_ = cmd.RegisterFlagCompletionFunc("shell", cobra.FixedCompletions(session.Shells(), cobra.ShellCompDirectiveNoFileComp))
	o.BindSettings(cmd.Flags())
	completeDoor(cmd)
	return cmd
}
