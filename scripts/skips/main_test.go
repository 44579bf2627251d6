package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const events = `{"Action":"start","Package":"github.com/kernstash/kernstash/deps"}
{"Action":"output","Package":"github.com/kernstash/kernstash/deps","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"github.com/kernstash/kernstash/deps","Test":"TestA","Output":"    a_test.go:1: no such card\n"}
{"Action":"output","Package":"github.com/kernstash/kernstash/deps","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"}
{"Action":"skip","Package":"github.com/kernstash/kernstash/deps","Test":"TestA","Elapsed":0}
{"Action":"output","Package":"github.com/kernstash/kernstash/deps","Test":"TestB","Output":"    b_test.go:1: elsewhere:             --- SKIP: TestB/c (0.00s)\n"}
{"Action":"output","Package":"github.com/kernstash/kernstash/deps","Test":"TestB","Output":"            --- SKIP: TestB/d (0.00s)\n"}
{"Action":"output","Package":"github.com/kernstash/kernstash/deps","Test":"TestB","Output":"--- PASS: TestB (0.00s)\n"}
{"Action":"pass","Package":"github.com/kernstash/kernstash/deps","Test":"TestB","Elapsed":0}
{"Action":"output","Package":"github.com/kernstash/kernstash","Test":"TestE","Output":"    e_test.go:1: wrong\n"}
{"Action":"output","Package":"github.com/kernstash/kernstash","Test":"TestE","Output":"--- FAIL: TestE (0.00s)\n"}
{"Action":"fail","Package":"github.com/kernstash/kernstash","Test":"TestE","Elapsed":0}
{"Action":"output","Package":"github.com/kernstash/kernstash","Test":"TestF","Output":"panic: lost\n"}
{"Action":"output","Package":"github.com/kernstash/kernstash","Output":"FAIL\n"}
{"Action":"fail","Package":"github.com/kernstash/kernstash","Elapsed":0}
{"Action":"output","Package":"github.com/kernstash/kernstash/deps","Output":"PASS\n"}
{"Action":"output","Package":"github.com/kernstash/kernstash/deps","Output":"ok  \tdeps\n"}
{"Action":"pass","Package":"github.com/kernstash/kernstash/deps","Elapsed":0}
`

func TestRead(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	results, err := read(strings.NewReader(events), &said, false)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range results {
		state := "ran"
		if r.Skipped {
			state = "skipped"
		}
		got = append(got, r.name()+" "+state)
	}
	want := []string{"deps TestA skipped", "deps TestB/d skipped", "deps TestB ran", ". TestE ran"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	quiet := "    e_test.go:1: wrong\n--- FAIL: TestE (0.00s)\nFAIL\npanic: lost\nok  \tdeps\n"
	if d := cmp.Diff(quiet, said.String()); d != "" {
		t.Error(d)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	skipped := result{Package: "deps", Test: "TestA/b", Skipped: true, Reason: "a_test.go:1: no such card"}
	other := result{Package: "deps", Test: "TestO"}
	ran := result{Package: "deps", Test: "TestA/b"}
	for name, test := range map[string]struct {
		runs [][]result
		list string
		want int
	}{
		"listed":             {[][]result{{skipped, other}}, "# cards\ndeps TestA/* no such card\n", 0},
		"not listed":         {[][]result{{skipped, other}}, "deps TestB no such card\n", 1},
		"another reason":     {[][]result{{skipped, other}}, "deps TestA/b no such driver\n", 1},
		"another package":    {[][]result{{skipped, other}}, "key TestA/b no such card\n", 1},
		"run by another run": {[][]result{{skipped}, {ran}}, "", 0},
		"no runs":            {nil, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, results := range test.runs {
				if err := write(dir, results); err != nil {
					t.Fatal(err)
				}
			}
			list := filepath.Join(dir, "list")
			if err := os.WriteFile(list, []byte(test.list), 0o600); err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			if got, err := check(&said, list, dir); got != test.want {
				t.Errorf("%d, want %d: %v\n%s", got, test.want, err, &said)
			}
		})
	}
}

// The list in the repository can be read.
func TestList(t *testing.T) {
	t.Parallel()
	if _, err := readList("../../.ci/skips"); err != nil {
		t.Error(err)
	}
}
