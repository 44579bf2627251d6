package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// fullDisk takes nothing.
type fullDisk struct{}

var errFullDisk = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFullDisk }

// TestOutputThatCannotBeWritten: it is said, whatever the command found, and
// counts that nobody has seen are not reset.
func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	fillHostile(t, dir) // one of its entries is damaged
	d := disk.New(disk.Options{Dir: dir})
	var s stats.Snapshot
	s[stats.Builds] = 3
	if err := d.AddStats(s); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"ls"},
		{"ls", "--json"},
		{"stat", "--reset"},
		{"verify"},
		{"config"},
		{"version"},
		{"--help"},
		{"help"},
		{"ls", "--help"},
		{"completion", "zsh"},
	} {
		var errs bytes.Buffer
		status := run(append(args, "--dir", dir), strings.NewReader(""), fullDisk{}, &errs)
		if status != cli.ExitFound || !strings.Contains(errs.String(), errFullDisk.Error()) {
			t.Errorf("%q: status %d, said %q", args, status, errs.String())
		}
	}
	d = disk.New(disk.Options{Dir: dir})
	defer d.Close()
	if got, err := d.Stats(); err != nil || got[stats.Builds] != 3 {
		t.Errorf("builds: %d, %v; want 3", got[stats.Builds], err)
	}
}
