package runtimes

import (
	"slices"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/gpu/tool"
)

func TestChooseDevice(t *testing.T) {
	t.Parallel()
	all := []tool.Device{{Title: "PoCL/cpu-a"}, {Title: "Vendor/GPU 1"}, {Title: "Vendor/GPU 10"}}
	for choice, want := range map[string]int{
		"": 0, "0": 0, "2": 2, "pocl": 0, "gpu 10": 2, "vendor/": -1, "gpu 1": -1, "3": -1, "-1": -1, "none": -1,
	} {
		d, err := Pick(all, choice)
		got := slices.IndexFunc(all, func(of tool.Device) bool { return of.Title == d.Title })
		if err != nil {
			if !cli.IsUsage(err) || !strings.Contains(err.Error(), "\n  2  Vendor/GPU 10") {
				t.Errorf("%q: %v does not list what is there", choice, err)
			}
		}
		if got != want {
			t.Errorf("%q: %d, want %d", choice, got, want)
		}
	}
}
