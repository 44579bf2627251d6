package machine

import (
	"errors"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
)

func TestChooseDevice(t *testing.T) {
	t.Parallel()
	titles := []string{"PoCL/cpu-a", "Vendor/GPU 1", "Vendor/GPU 10"}
	for choice, want := range map[string]int{
		"": 0, "0": 0, "2": 2, "pocl": 0, "gpu 10": 2, "vendor/": -1, "gpu 1": -1, "3": -1, "-1": -1, "none": -1,
	} {
		got, err := choose(titles, choice)
		if err != nil {
			got = -1
			var usage *cli.UsageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), "\n  2  Vendor/GPU 10") {
				t.Errorf("%q: %v does not list what is there", choice, err)
			}
		}
		if got != want {
			t.Errorf("%q: %d, want %d", choice, got, want)
		}
	}
}
