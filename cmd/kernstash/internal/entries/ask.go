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
)

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
