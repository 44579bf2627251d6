//go:build !unix

package compile

import (
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
)

// Run is not there on this system.
func Run(*cli.App, []string) (status int, err error) {
	return 126, fmt.Errorf("compile: %w", errors.ErrUnsupported)
}
