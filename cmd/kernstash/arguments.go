package main

import (
	"errors"

	"github.com/spf13/cobra"
)

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
