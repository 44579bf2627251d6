package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSortedRows: the order is the same whether all fits into memory or not, and
// nothing is left behind.
func TestSortedRows(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	const n = 5000
	for _, most := range []int{1 << 20, 50_000, 200} {
		s := newSortedRows()
		s.most = most
		for _, i := range rand.Perm(n) {
			// Ten rows each of a number, five of a text.
			r := sortedRow{number: int64(i/10) - 100, text: fmt.Sprint(i / 5 % 2), place: fmt.Sprintf("%05d", i), row: fmt.Appendf(nil, "row %d\n", i)}
			if err := s.add(r); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		if err := s.each(func(row []byte) error { got = append(got, string(row)); return nil }); err != nil {
			t.Fatal(err)
		}
		want := make([]string, n)
		for i := range want {
			want[i] = fmt.Sprintf("row %d\n", i)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d bytes in memory: %d rows, not in order", most, len(got))
		}
		if spilled := s.file != nil; spilled != (most < 1<<20) {
			t.Errorf("%d bytes in memory: written to a file: %v", most, spilled)
		}
		s.close()
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
}
