package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/manual"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/session"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/settings"
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

func manCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages into a directory",
		Long: `Write one manual page for each command into a directory, which is made if need
be.` +
			exits("written", "not written"),
		Example: "  kernstash man /usr/local/share/man/man1",
		Args:    wants(1, 1, "man: give one directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("manual pages: %w", err)
			}
			if err := manual.Write(cmd.Root(), args[0], pagesDate(), manualSections()); err != nil {
				return fmt.Errorf("manual pages: %w", err)
			}
			return nil
		},
	}
}

// manualSections are the files and variables of all commands.
func manualSections() []manual.Section {
	files := [][2]string{
		{"$XDG_CACHE_HOME/kernstash, ~/.cache/kernstash", "the cache, unless the setting dir names another"},
		{"$XDG_CONFIG_HOME/kernstash/config.json, ~/.config/kernstash/config.json", "the settings file, unless --config names another: a JSON object of the settings"},
		{"$XDG_CONFIG_HOME/kernstash/trust, ~/.config/kernstash/trust", "keys whose signatures count, unless the setting trust names another directory"},
		{"$XDG_CONFIG_HOME/environment.d/50-kernstash.conf", "what 'kernstash enable' writes for the session"},
		{session.SystemFile, "what 'kernstash enable --system' writes for the sessions of all users"},
		{"~/.local/bin/NAME", "what 'kernstash enable --app NAME' writes"},
		{"/etc/kernstash/agent.json", "whom the agent of the node serves"},
		{settings.SystemAgent + ", $XDG_RUNTIME_DIR/kernstash/agent.sock", "where the agent is asked"},
	}
	s, _ := settings.Load(settings.Inputs{Environ: []string{}})
	var variables [][2]string
	for _, item := range s.All() {
		text := item.Description + ": " + item.Accepts
		if item.Default != "" {
			text += " (default " + item.Default + ")"
		}
		variables = append(variables, [2]string{item.Variable, text})
	}
	return []manual.Section{{Title: "FILES", Items: files}, {Title: "ENVIRONMENT", Items: variables}}
}

// pagesDate is when the sources were committed, so that the same command writes the same pages, or what packagers
// say, or now where neither is known.
func pagesDate() time.Time {
	if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		return time.Unix(seconds, 0).UTC()
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if at, err := time.Parse(time.RFC3339, s.Value); err == nil && s.Key == "vcs.time" {
				return at
			}
		}
	}
	return time.Now()
}
