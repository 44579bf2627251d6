package entries

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSortedRows: rows come in the order of their numbers or texts, whether all fit into
// memory or not; equal ones come in one order, however they were found; and nothing is
// left behind.
func TestSortedRows(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	const n = 5000
	for _, tt := range []struct {
		pad   int // bytes of each row
		texts bool
	}{{0, false}, {0, true}, {3000, false}, {3000, true}} {
		var first []string
		for range 2 {
			var s sortedRows
			for _, i := range rand.Perm(n) {
				number, text := int64(i/10)-100, "" // ten rows of each
				if tt.texts {
					number, text = 0, fmt.Sprintf("%03d", i/10)
				}
				if err := s.add(number, text, fmt.Sprint(i), fmt.Appendf(nil, "%03d %04d%s", i/10, i, strings.Repeat(".", tt.pad))); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			if err := s.each(func(row []byte) error { got = append(got, string(row)); return nil }); err != nil {
				t.Fatal(err)
			}
			if spilled := s.file != nil; spilled != (tt.pad > 0) {
				t.Errorf("%+v: written to a file: %v", tt, spilled)
			}
			s.close()
			if !slices.IsSortedFunc(got, func(a, b string) int { return strings.Compare(a[:3], b[:3]) }) {
				t.Errorf("%+v: not in order", tt)
			}
			if first == nil {
				first = slices.Clone(got)
			}
			if !slices.Equal(got, first) {
				t.Errorf("%+v: another order of equal rows", tt)
			}
			slices.Sort(got)
			if got = slices.Compact(got); len(got) != n {
				t.Errorf("%+v: %d different rows, want %d", tt, len(got), n)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}
