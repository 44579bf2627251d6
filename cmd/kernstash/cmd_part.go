package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/spf13/cobra"
)

// partCommand is how the command asks itself in a process of its own (cli.AskPart): the request
// is its standard input, and the answer goes into the file of --report.
func partCommand[Request, Answer any](name string, do func(context.Context, Request) (Answer, error)) *cobra.Command {
	var report string
	cmd := &cobra.Command{
		Use:    name,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var request Request
			if err := json.NewDecoder(cmd.InOrStdin()).Decode(&request); err != nil {
				return err
			}
			answer, err := do(cmd.Context(), request)
			if err != nil {
				return err
			}
			b, err := json.Marshal(answer)
			if err != nil {
				return err
			}
			return os.WriteFile(report, b, 0o600)
		},
	}
	cmd.Flags().StringVar(&report, "report", "", "")
	return cmd
}
