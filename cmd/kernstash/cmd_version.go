package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
)

// release is the version of the sources, as in capi/kernstash.h.
const release = "0.1.0"

// commit is set by the Makefile, with -ldflags '-X main.commit=…': the command is
// built outside of version control as well, where Go does not know it.
var commit string

// versionReport is what `version --json` writes.
type versionReport struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // "-dirty" or "+dirty" behind it: something was changed
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Schema   int    `json:"schema"`   // of keys
	Format   int    `json:"format"`   // of entries
	Runtimes bool   `json:"runtimes"` // false: built with -tags nogpu
}

func versionCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version of the command and the commit that it was built from, the
versions of keys and of entries, and that of Go. Entries of another version are
never served; 'kernstash gc' removes them.` +
			exits("always"),
		Example: "  kernstash version\n  kernstash --version\n  kernstash version --json",
		RunE:    func(*cobra.Command, []string) error { return writeVersion(a) },
	}
}

func writeVersion(a *cli.App) error {
	v := version()
	return a.Report(v, true, func() { a.Printf("%s\n", v) })
}

func (v versionReport) String() string {
	text := "kernstash " + v.Version
	if v.Revision != "" {
		text += ", commit " + v.Revision
	}
	runtimes := "with runtimes"
	if !v.Runtimes {
		runtimes = "without runtimes (nogpu)"
	}
	return fmt.Sprintf("%s, key schema %d, entry format %d, %s, %s, %s", text, v.Schema, v.Format, runtimes, v.Go, v.Platform)
}

func version() versionReport {
	v := versionReport{
		Version: release, Revision: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Schema: key.Schema, Format: format.Version, Runtimes: runtimes.Linked,
	}
	if info, ok := debug.ReadBuildInfo(); ok && v.Revision == "" && info.Main.Version != "(devel)" {
		v.Revision = info.Main.Version // which names the commit
	}
	return v
}
