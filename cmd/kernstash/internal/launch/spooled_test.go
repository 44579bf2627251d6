package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/runlog"
)

// A program that is compiled because a worker gave it up, or has not come to it, says so;
// what this run left to the worker, and launches alone that were refused, are no reason.
func TestExplain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	begun := time.Now().Add(-time.Minute)
	file := func(digit, words, content string, at time.Time) {
		t.Helper()
		path := filepath.Join(root, ".meta/spool", strings.Repeat("e", 32), strings.Repeat(digit, 32)+words)
		for _, err := range []error{
			os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600), os.Chtimes(path, at, at),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	before, after := begun.Add(-time.Hour), begun.Add(time.Second)
	file("1", ".capture.refused", "# twice: signal: killed\nk/1-1-1", before)
	file("2", ".capture.refused", "k/1-1-1", before) // the launch alone
	file("3", ".capture", "", before)
	file("4", ".capture", "", after)
	file("5", ".capture.refused", "# too old", begun.AddDate(0, 0, -15))
	file("6", ".capture.refused", "# ", before)
	file("7", ".capture.refused", "# it was built by another driver since", before)

	file("8", ".capture", "", before)
	note := `{"last":[{"job":"` + strings.Repeat("8", 32) + `.capture","state":"elsewhere","reason":"no such device here"},` +
		`{"job":"` + strings.Repeat("8", 32) + `.capture","state":"failed","reason":"an earlier one"},` +
		`{"job":"` + strings.Repeat("1", 32) + `.capture","state":"failed","reason":"signal: killed"},{"job":"x","state":"failed","reason":"x"}]}`
	if err := os.WriteFile(filepath.Join(root, ".meta/worker"), []byte(note), 0o600); err != nil {
		t.Fatal(err)
	}

	s := &runlog.Summary{Compiles: []runlog.Count{{What: "nothing near it", N: 8}, {What: "miss.digest", N: 1}}}
	for _, digit := range strings.Split("1 2 3 4 5 6 8", " ") {
		s.Programs = append(s.Programs, runlog.Program{
			Key: strings.Repeat(digit, 12), Outcome: runlog.Compiled, Reason: "miss.absent", Nearest: "nothing near it", Requests: 1,
		})
	}
	s.Programs[0].Requests = 2
	s.Programs = append(s.Programs,
		runlog.Program{Key: strings.Repeat("7", 12), Outcome: runlog.Compiled, Reason: "miss.digest", Requests: 1},
		runlog.Program{Key: strings.Repeat("7", 12), Outcome: runlog.Disk, Requests: 1},
	)
	explain(s, root, begun)
	var got []string
	for _, p := range s.Programs {
		got = append(got, p.Nearest)
	}
	want := []string{
		"a worker gave it up: twice: signal: killed", "nothing near it", "it waits for a worker", "nothing near it",
		"nothing near it", "a worker gave it up", "a worker has not done it yet: no such device here", "", "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	counts := []runlog.Count{
		{What: "nothing near it", N: 3},
		{What: "a worker gave it up: twice: signal: killed", N: 2},
		{What: "a worker gave it up", N: 1},
		{What: "a worker has not done it yet: no such device here", N: 1},
		{What: "it waits for a worker", N: 1},
		{What: "miss.digest", N: 1},
	}
	if diff := cmp.Diff(counts, s.Compiles); diff != "" {
		t.Error(diff)
	}
	explain(s, filepath.Join(root, "none"), begun)
}
