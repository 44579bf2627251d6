package main

import (
	"math"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/trusts"
)

func trustCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Say whose signatures count",
		Long: `Change and show the list of keys whose signatures count. It is a directory (setting trust)
of public keys in PEM, and of a file with those that were revoked. With one, what comes from
remotes has to be signed by a key of the list, and so have bundles, where --trust names no
other. While it has none signatures are not asked for, unless the setting names the
directory: then nothing is trusted until there is a key.

What is in the cache already, and layers, are the user's own, and hit without signatures.

Others must not be able to write there: else nothing is trusted.` + exits("shown"),
		Example: "  kernstash trust list",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(trustAddCommand(a), trustListCommand(a), trustRevokeCommand(a))
	return cmd
}

func trustAddCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "add FILE...",
		Short: "Trust the public keys in files",
		Long: `Add the public keys in files of PEM, which 'kernstash keygen' or openssl made, to the list.
To replace a key, add the new one, sign with it, and then revoke the old one.` +
			exits("they are in the list", "a file holds no public key, a key is revoked, or the list cannot be written"),
		Example: `  kernstash trust add release.pub.pem
  KERNSTASH_TRUST=/etc/kernstash/trust kernstash trust add 2027.pub.pem`,
		Args: wants(1, math.MaxInt, "trust add: the keys in which file?"),
		RunE: func(_ *cobra.Command, args []string) error { return trusts.Add(a, args) },
	}
}

func trustListCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Show whose signatures count",
		Long:  "Show the keys in the list by their fingerprints, and those that were revoked." + exits("shown", "the list cannot be read: nothing is trusted"),
		Example: `  kernstash trust list
  kernstash trust list --json`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return trusts.List(a) },
	}
}

func trustRevokeCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke FINGERPRINT|FILE...",
		Short: "Trust keys no longer",
		Long: `Revoke keys: what they have signed counts no longer, and they cannot be added again. A
key is named by its fingerprint, as 'trust list' shows it, or by a file with public keys. It
need not be in the list. Processes that are running obey within ten seconds.` +
			exits("they are revoked", "a file holds no public key, or the list cannot be written"),
		Example: `  kernstash trust revoke SHA256:Zmh6rfhivXdsj8GLjp+OIAiXFIVu4jOzkCpZHQ1fKSU
  kernstash trust revoke release.pub.pem`,
		Args: wants(1, math.MaxInt, "trust revoke: which key?"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return trusts.Completions(a), cobra.ShellCompDirectiveDefault
		},
		RunE: func(_ *cobra.Command, args []string) error { return trusts.Revoke(a, args) },
	}
}
