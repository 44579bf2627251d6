package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// isCobraUsage recognises the one usage error that cobra gives no type: a
// command that does not exist.
func isCobraUsage(err error) bool { return strings.HasPrefix(err.Error(), "unknown command ") }

// takesNone words the error of a command that takes no arguments: cobra takes those for
// commands that do not exist.
func takesNone(cmd *cobra.Command, args []string, err error) error {
	if !isCobraUsage(err) || cmd.HasSubCommands() || len(args) == 0 {
		return err
	}
	text := fmt.Sprintf("%s: takes no argument: %s", cmd.Name(), args[0])
	switch cmd.Name() {
	case "ls":
		text += "; 'kernstash show KEY' shows one entry"
	case "config":
		text += "; settings are changed in the settings file, or in the environment"
	}
	return errors.New(text)
}

// exactly wants n arguments, and says what they are.
func exactly(n int, text string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return errors.New(text)
		}
		return nil
	}
}

// atLeast wants n arguments or more, and says what they are.
func atLeast(n int, text string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < n {
			return errors.New(text)
		}
		return nil
	}
}
