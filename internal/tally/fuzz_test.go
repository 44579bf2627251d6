//go:build linux || darwin

package tally

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzTally: whatever the file holds, it is read without harm, and an addition
// either says that it is of another version, or counts on top of what was read.
func FuzzTally(f *testing.F) {
	for _, shape := range []header{{1, 2}, {3, 2}, {2, 1}, {2, 5}} {
		b := make([]byte, shape.size())
		shape.put(b)
		binary.LittleEndian.PutUint64(b[headerBytes:], 40)
		f.Add(b)
		f.Add(b[:len(b)-1])
		b[8]++ // the version
		f.Add(b)
	}
	f.Add([]byte(nil))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, path := place(t)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		tally := open(t, p, 2, 2)
		before, err := tally.Totals()
		other := errors.Is(err, ErrVersion)
		if err != nil && !other {
			t.Fatalf("totals: %v", err)
		}
		err = tally.Add(1, 2)
		if other {
			if !errors.Is(err, ErrVersion) {
				t.Fatalf("add to another version: %v", err)
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != string(b) {
				t.Fatal("a file of another version was changed")
			}
			return
		}
		if err != nil {
			t.Fatalf("add: %v", err)
		}
		after, err := tally.Totals()
		if err != nil {
			t.Fatalf("totals after an addition: %v", err)
		}
		if d := cmp.Diff([]int64{before[0] + 1, before[1] + 2}, after); d != "" {
			t.Fatalf("totals after an addition (-want +got):\n%s", d)
		}
	})
}
