package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/key"
)

// versionReport is what `version --json` writes.
type versionReport struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Schema   int    `json:"schema"`   // of keys
	Runtimes bool   `json:"runtimes"` // false: built with -tags nogpu
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version of the command, of its keys, and of Go.\n\nEXIT STATUS\n  0  always",
		Example: "  kernstash version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := version()
			if a.json {
				return a.writeJSON(v)
			}
			runtimes := "with runtimes"
			if !v.Runtimes {
				runtimes = "without runtimes (nogpu)"
			}
			a.printf("kernstash %s, key schema %d, %s, %s, %s\n", v.Version, v.Schema, runtimes, v.Go, v.Platform)
			return nil
		},
	}
}

func version() versionReport {
	v := versionReport{
		Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Schema: key.Schema, Runtimes: hasRuntimes,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	return v
}
