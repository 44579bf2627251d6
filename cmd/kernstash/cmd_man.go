package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
)

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
			root := cmd.Root()
			root.DisableAutoGenTag = true // the same command writes the same pages
			header := &doc.GenManHeader{Section: "1", Source: "kernstash", Manual: "kernstash manual", Date: pagesDate()}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("manual pages: %w", err)
			}
			return nil
		},
	}
}

// pagesDate is when the sources were committed, so that the same command writes the same pages;
// nil, which is SOURCE_DATE_EPOCH or now, where that is not known or packagers say otherwise.
func pagesDate() *time.Time {
	info, ok := debug.ReadBuildInfo()
	if !ok || os.Getenv("SOURCE_DATE_EPOCH") != "" {
		return nil
	}
	for _, s := range info.Settings {
		if s.Key != "vcs.time" {
			continue
		}
		if at, err := time.Parse(time.RFC3339, s.Value); err == nil {
			return &at
		}
	}
	return nil
}
