//go:build linux || darwin

package tally

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocumentDescribesTally reads a file by the table of docs/FORMAT.md.
func TestDocumentDescribesTally(t *testing.T) {
	t.Parallel()
	p, path := place(t)
	f := open(t, p, 5, 3)
	add(t, f, 1, 2, 3)
	add(t, open(t, p, 5, 3), 10, -20, 30)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	u32 := func(at int) int { return int(binary.LittleEndian.Uint32(b[at:])) }
	if string(b[:8]) != "ksttally" || u32(8) != 1 || u32(12) != 64 || u32(16) != 5 || u32(20) != 3 ||
		binary.LittleEndian.Uint64(b[24:]) != 0 || len(b) != 64+8*5*3 {
		t.Errorf("header % x, %d bytes", b[:64], len(b))
	}
	totals := make([]int64, 3)
	for slot := range 5 {
		for i := range totals {
			totals[i] += int64(binary.LittleEndian.Uint64(b[64+8*(3*slot+i):]))
		}
	}
	if d := cmp.Diff([]int64{11, -18, 33}, totals); d != "" {
		t.Errorf("totals (-want +read):\n%s", d)
	}
}
