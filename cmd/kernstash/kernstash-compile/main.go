// Command kernstash-compile is the step of the command that runs a compiler with the cache, 'kernstash compile -- …', or called
// by the name of a compiler. It starts in less than half the time of the whole command, to which it leaves all else:
// docs/decisions/209-command-of-compilers.md.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/compilers"
)

func main() {
	if status, ours := compilers.Step(os.Args); ours {
		os.Exit(status)
	}
	fmt.Fprintf(os.Stderr, "kernstash: the whole command does not start: %v\n", becomeWhole())
	os.Exit(cli.ExitFound)
}

// becomeWhole has the whole command take the place of this process. It returns why it does not.
func becomeWhole() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	whole := filepath.Join(filepath.Dir(self), cli.WholeName)
	return fmt.Errorf("%s: %w", whole, syscall.Exec(whole, append([]string{"kernstash"}, os.Args[1:]...), os.Environ()))
}
