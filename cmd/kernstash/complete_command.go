package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
)

// completeCommand completes a command and its arguments: first a program on the
// path or a file, then files.
func completeCommand(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 || strings.ContainsRune(typed, filepath.Separator) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []cobra.Completion
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		files, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, f := range files {
			if strings.HasPrefix(f.Name(), typed) && cli.IsExecutable(filepath.Join(dir, f.Name())) {
				names = append(names, f.Name())
			}
		}
	}
	if len(names) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}

// completeDoor adds what --door takes.
func completeDoor(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("door", cobra.FixedCompletions(
		[]string{launch.DoorAuto, launch.DoorLayer, launch.DoorPreload}, cobra.ShellCompDirectiveNoFileComp))
}
