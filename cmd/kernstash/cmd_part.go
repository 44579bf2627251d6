package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
)

// partCommand is how the command asks itself in a process of its own (cli.AskSelf): the request
// is its argument, and the answer goes into the file of --report.
func partCommand[Request, Answer any](name string, do func(context.Context, Request) (Answer, error)) *cobra.Command {
	var report string
	cmd := &cobra.Command{
		Use:    name,
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var request Request
			if err := json.Unmarshal([]byte(args[0]), &request); err != nil {
				return cli.Usage(err)
			}
			answer, err := do(cmd.Context(), request)
			if err != nil {
				return err
			}
			return cli.Answer(report, answer)
		},
	}
	cmd.Flags().StringVar(&report, "report", "", "")
	return cmd
}
