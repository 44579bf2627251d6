package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/runlog"
)

// What `kernstash run` tells of a program that uses the library.
func TestReportOfTheCLibrary(t *testing.T) {
	t.Parallel()
	h := newHost(t, cbuild.Library(t).Compile(t, parts))
	path := filepath.Join(h.dir, "report")
	for _, tt := range []struct {
		part, root string
		want       runlog.Outcomes
	}{
		{"populated", "1", runlog.Outcomes{Asked: 1, Compiled: 1}},
		{"found", "1", runlog.Outcomes{Asked: 1, Disk: 1}},
		{"threads", "2", runlog.Outcomes{Asked: 2, Compiled: 1, Memory: 1}},
		{"process", "2", runlog.Outcomes{Asked: 1, Disk: 1}},
		{"failures", "3", runlog.Outcomes{Asked: 4, Compiled: 1, Failed: 3}},
		{"alone", "4", runlog.Outcomes{Asked: 2, Passed: 2}},
	} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		h.run(tt.part, "KERNSTASH_REPORT="+path, "KERNSTASH_DIR="+filepath.Join(h.dir, tt.root))
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := runlog.Read(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, s.Outcomes); diff != "" || s.Processes != 1 {
			t.Errorf("%s: %d processes, outcomes (-want +got):\n%s\n%s", tt.part, s.Processes, diff, b)
		}
	}
}
