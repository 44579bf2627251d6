package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
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
			if !strings.HasPrefix(f.Name(), typed) {
				continue
			}
			if _, err := exec.LookPath(filepath.Join(dir, f.Name())); err == nil {
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

// completeFlag adds what a flag takes.
func completeFlag(cmd *cobra.Command, name string, values []string) {
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
