package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func (a *app) clearCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "clear",
		Short: "Remove every entry",
		Long: `Remove every entry of the cache. Statistics stay, and so does what is not
kernstash's. Programs that run keep what they have; nothing breaks.

On a terminal it asks first; elsewhere it wants --yes.

EXIT STATUS
  0  the cache is empty, or was not to be cleared after all
  1  it could not be cleared
  2  neither asked nor told to`,
		Example: `  kernstash clear
  kernstash clear --yes --dir /tmp/stash`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.clear(cmd.Context(), yes) },
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func (a *app) clear(ctx context.Context, yes bool) (err error) {
	d, s, err := a.openDisk()
	if err != nil {
		return err
	}
	defer closeDisk(d, &err)
	if !yes {
		agreed, err := a.ask(ctx, fmt.Sprintf("remove every entry in %s?", s.Dir))
		if err != nil || !agreed {
			return err
		}
	}
	p := a.newProgress()
	r, err := d.ClearAll(ctx, p.counting("cleared", d.Status().Entries))
	p.done()
	if err != nil {
		return err
	}
	return a.writeSwept(r, false, s)
}

// ask puts a question that is answered with yes or no.
// An interrupt ends it.
func (a *app) ask(ctx context.Context, question string) (bool, error) {
	if f, ok := a.in.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return false, &usageError{errors.New("there is nobody to ask: give --yes")}
	}
	fmt.Fprintf(a.err, "%s [y/N] ", printable(question, false))
	answered := make(chan string, 1)
	go func() { // which ends with the process, if nobody answers
		answer, _ := bufio.NewReader(a.in).ReadString('\n')
		answered <- answer
	}()
	var answer string
	select {
	case answer = <-answered:
	case <-ctx.Done():
		fmt.Fprintln(a.err)
		return false, context.Cause(ctx)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}
