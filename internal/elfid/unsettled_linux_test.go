package elfid_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/internal/elfid"
)

// A file that is written twice within one tick of the file system's clock has the same stamp.
func TestChangesWithoutAnotherStamp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lib.so")
	write := func(content string) contents.Stamp {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := contents.Look(path)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for range 50 {
		first := write("one")
		one, err := elfid.Inspect(path)
		if err != nil {
			t.Fatal(err)
		}
		id := one.ID
		if write("two") != first {
			continue
		}
		two, err := elfid.Inspect(path)
		if err != nil {
			t.Fatal(err)
		}
		if two.ID == id {
			t.Fatalf("id %q for both", id)
		}
		return
	}
	t.Skip("each write after a look has a time of its own here (Linux 6.13)")
}
