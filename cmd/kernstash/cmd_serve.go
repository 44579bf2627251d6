package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/web"
)

func serveCommand(a *cli.App) *cobra.Command {
	var o web.Options
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Show the cache in a browser, and to Prometheus",
		Long: `Show the cache as a web page on this machine until interrupted: what it saved, day by day;
space by application, device and program; each entry; why programs were compiled; what would
be evicted next; and with --report a run's timeline. Nothing is changed, and nothing is
fetched from elsewhere.

Open the address that is printed: its token lets the browser in. /metrics on the same
address has what 'kernstash stat' counts, for Prometheus, which gives the token as
bearer. --token-file keeps one token: it is read from a file, which is made if it is
not there.` +
			exits("it was interrupted", "the address is taken, or a file cannot be read", "a flag makes no sense, or the address is not of this machine alone"),
		Example: `  kernstash serve
  kernstash serve --listen 127.0.0.1:8080 --token-file ~/.kernstash.token
  kernstash serve --report run.json`,
		PreRunE: func(*cobra.Command, []string) error { return web.CheckListen(o.Listen) },
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Version = release
			return a.OnCache(func(ctx context.Context, c cli.Cache) error { return web.Serve(ctx, c, o) })(cmd, args)
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", "127.0.0.1:0", "`ADDRESS` of this machine, and port; 0 = a free one")
	cmd.Flags().StringVar(&o.TokenFile, "token-file", "", "`FILE` that holds the token, else it is a new one")
	cmd.Flags().StringVar(&o.Report, "report", "", "show the run of which 'kernstash run --report-file' wrote `FILE`, too")
	return cmd
}
