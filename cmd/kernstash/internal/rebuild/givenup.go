package rebuild

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/worker"
)

// GivenUp is a program that this rebuild or an earlier one dropped, and that none builds for two weeks.
type GivenUp struct {
	Key     string    `json:"key"` // under which it would be
	Kernels []string  `json:"kernels"`
	Reason  string    `json:"reason"`
	At      time.Time `json:"at"`

	job  string
	size int64
}

// givenUp returns which programs were given up, the newest first.
func givenUp(ctx context.Context, c cli.Cache, cold []worker.Cold) ([]GivenUp, error) {
	refusals, err := spool.Refusals(ctx, c.Disk, math.MaxInt)
	if err != nil {
		return nil, fmt.Errorf("rebuild: what was given up: %w", err)
	}
	of := make(map[string]*worker.Cold, len(cold))
	for i := range cold {
		of[cold[i].Key.Sum.Dir()] = &cold[i]
	}
	all := []GivenUp{} // of none, too: null is no list in JSON
	for _, r := range refusals {
		if one := of[program(r.Job)]; one != nil {
			all = append(all, GivenUp{
				Key: one.Key.String(), Kernels: append([]string{}, one.Entry.Kernels...), Reason: strings.TrimSpace(r.Reason), At: r.At.UTC(),
				job: r.Job, size: one.Entry.Size,
			})
		}
	}
	return all, nil
}

// maxGivenUp bounds the programs that are named for people.
const maxGivenUp = 50

func writeGivenUp(c cli.Cache, all []GivenUp) {
	for _, of := range all[:min(len(all), maxGivenUp)] {
		c.Printf("given up  %s: %s\n", human.Printable(label(of.Kernels, of.size), false), human.Printable(of.Reason, false))
	}
	if more := len(all) - maxGivenUp; more > 0 {
		c.Printf("and %d more given up: --json names them\n", more)
	}
}
