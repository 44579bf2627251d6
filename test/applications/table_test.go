package main

import (
	"strings"
	"testing"
	"time"
)

// A row that is measured again has the place of the earlier one; a new one comes to its
// application's; the others stay as they are.
func TestWithRow(t *testing.T) {
	t.Parallel()
	row := func(app string, cache bool, warm time.Duration) *result {
		return &result{App: app, PoCLCache: cache, Without: time.Second, Cold: time.Second, Warm: warm, ColdAsked: 3, WarmDisk: 3}
	}
	table := ""
	for _, r := range []*result{
		row("a", true, time.Second), row("b", true, time.Second), row("a", false, time.Second),
		row("a", true, 2*time.Second), row("a b", true, time.Second), row("b", true, 3*time.Second),
	} {
		table = withRow(table, r)
	}
	rest, ok := strings.CutPrefix(table, tableHead)
	if !ok {
		t.Fatal(table)
	}
	want := "| a | on |   1.00 s | – |   1.00 s | **2.00 s** | 3 | 3 | 0 | equal |\n" +
		"| a | off |   1.00 s | – |   1.00 s | **1.00 s** | 3 | 3 | 0 | equal |\n" +
		"| b | on |   1.00 s | – |   1.00 s | **3.00 s** | 3 | 3 | 0 | equal |\n" +
		"| a b | on |   1.00 s | – |   1.00 s | **1.00 s** | 3 | 3 | 0 | equal |\n"
	if rest != want {
		t.Errorf("got\n%swant\n%s", rest, want)
	}
}
