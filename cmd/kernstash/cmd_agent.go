package main

import (
	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/node"
)

func agentCommand(a *cli.App) *cobra.Command {
	var o node.Options
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Serve the applications of this node from one cache",
		Long: `Be the agent of this node: fetch from remotes, upload to them, and keep what was
fetched in a node cache, for the applications of the users that the configuration names.
They reach it by a unix socket, by themselves, where it is at its default place.

Without a configuration it serves the user who runs it. As root it reads
/etc/kernstash/agent.json, if that is there: see docs/COMMAND.md.

SIGTERM ends it within 2 seconds; what waits to be uploaded is uploaded in that time.` +
			exits("it was told to end", "it cannot serve, or a setting or the configuration makes no sense", "the command line makes no sense"),
		Example: `  kernstash agent
  kernstash agent --socket /run/kernstash/agent.sock \
    --agent-config /etc/kernstash/agent.json
  kernstash agent status`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Version = release
			return node.Run(cmd.Context(), a, o)
		},
	}
	cmd.PersistentFlags().StringVar(&o.Socket, "socket", "", "path of the socket")
	cmd.Flags().StringVar(&o.File, "agent-config", "", "configuration of the agent")
	cmd.Flags().BoolVarP(&o.Verbose, "verbose", "v", false, "log each entry that is handed over")
	cmd.AddCommand(&cobra.Command{
		Use:   "status",
		Short: "Say how the agent of this node is",
		Long: `Ask the agent, where the settings look for it, or at --socket: whom it serves, how large
the node cache is, and where what was asked for was found. A user sees the own tenant alone.` +
			exits("said", "there is no agent, or it does not answer, or is not to be believed"),
		Example: `  kernstash agent status
  kernstash agent status --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return node.Status(cmd.Context(), a, o.Socket) },
	})
	return cmd
}
