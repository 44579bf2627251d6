package manifest

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/key"
)

// A manifest of another machine may have, by chance or because images are built alike, the stamp of
// a file that holds something else here.
func TestUnstamp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.h")
	if err := os.WriteFile(path, []byte("#define A 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stamp, err := files.OS.Look(path)
	if err != nil {
		t.Fatal(err)
	}
	of := func(content string) *Manifest {
		return &Manifest{
			includes: []key.Include{{Name: `"a.h"`, File: 0}},
			files:    []key.File{{Path: path, Size: stamp.Size, Digest: sha256.Sum256([]byte(content))}},
			reads:    []Read{{Path: path, Stamp: stamp, Settled: true}},
		}
	}
	other := of("#define A 2\n")
	if _, changed := other.Check(); changed != "" {
		t.Fatalf("a stamp is not believed: %q", changed)
	}
	other.Unstamp()
	if _, changed := other.Check(); changed != path {
		t.Errorf("another file's manifest holds; changed %q", changed)
	}
	same := of("#define A 1\n")
	before := string(same.Append(nil, key.Digest{1}))
	same.Unstamp()
	bare := string(same.Append(nil, key.Digest{1}))
	again, err := Parse([]byte(bare), key.Digest{1})
	if err != nil || bare == before {
		t.Fatal(err)
	}
	if renewed, changed := again.Check(); !renewed || changed != "" {
		t.Errorf("the same file: renewed %v, changed %q", renewed, changed)
	}
	if again.reads[0].Stamp != stamp {
		t.Errorf("it has the stamp %+v, want %+v", again.reads[0].Stamp, stamp)
	}
}
