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
	row := func(app string, wiped time.Duration, variables ...string) *result {
		return &result{
			App: app, Variables: variables, First: time.Second, Again: time.Second, LayerFirst: time.Second, LayerAgain: time.Second,
			LayerWiped: wiped, Asked: 3, AgainCounts: count3{Passed: 3}, WipedCounts: count3{Found: 3},
		}
	}
	table := ""
	for _, r := range []*result{
		row("a", time.Second), row("b", time.Second), row("a", time.Second, "X=0", "Y=1"),
		row("a", 2*time.Second), row("a b", time.Second), row("b", 3*time.Second),
	} {
		table = withRow(table, r)
	}
	rest, ok := strings.CutPrefix(table, tableHead)
	if !ok {
		t.Fatal(table)
	}
	want := "| a | – |   1.00 s |   1.00 s |   1.00 s | **1.00 s** | 0, 0, 3 | **2.00 s** | 3, 0, 0 | 3 | equal |\n" +
		"| a | `X=0` `Y=1` |   1.00 s |   1.00 s |   1.00 s | **1.00 s** | 0, 0, 3 | **1.00 s** | 3, 0, 0 | 3 | equal |\n" +
		"| b | – |   1.00 s |   1.00 s |   1.00 s | **1.00 s** | 0, 0, 3 | **3.00 s** | 3, 0, 0 | 3 | equal |\n" +
		"| a b | – |   1.00 s |   1.00 s |   1.00 s | **1.00 s** | 0, 0, 3 | **1.00 s** | 3, 0, 0 | 3 | equal |\n"
	if rest != want {
		t.Errorf("got\n%swant\n%s", rest, want)
	}
}
