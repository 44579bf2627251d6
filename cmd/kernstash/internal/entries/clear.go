package entries

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store/disk"
)

// Clear removes every entry; it asks first unless yes is set.
func Clear(ctx context.Context, a *cli.App, d *disk.Store, s *settings.Settings, yes bool) error {
	if !yes {
		agreed, err := Ask(ctx, a, fmt.Sprintf("remove every entry in %s?", s.Dir))
		if err != nil || !agreed {
			return err
		}
	}
	p := a.Progress()
	r, err := d.Clear(ctx, nil, p.Counting("cleared", d.Status().Entries))
	p.Done()
	if err != nil {
		return err
	}
	return writeSwept(a, r, false, s)
}

// Ask puts a question that is answered with yes or no.
// An interrupt ends it.
func Ask(ctx context.Context, a *cli.App, question string) (bool, error) {
	if f, ok := a.In.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return false, cli.Usage(errors.New("there is nobody to ask: give --yes"))
	}
	fmt.Fprintf(a.Err, "%s [y/N] ", human.Printable(question, false))
	answered := make(chan string, 1)
	go func() { // which ends with the process, if nobody answers
		answer, _ := bufio.NewReader(a.In).ReadString('\n')
		answered <- answer
	}()
	var answer string
	select {
	case answer = <-answered:
	case <-ctx.Done():
		fmt.Fprintln(a.Err)
		return false, context.Cause(ctx)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}
