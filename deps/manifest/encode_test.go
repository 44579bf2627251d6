package manifest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/key"
)

// goodManifest returns one of three files and three probes.
func goodManifest() *Manifest {
	return &Manifest{
		includes: []key.Include{{Name: "<a>", File: 0}, {Name: "<c>", File: 2}, {Name: "<d>", File: -1}},
		files: []key.File{
			{Path: "/a", Size: 1, Includes: []key.Include{{Name: "<b>", File: 1}}},
			{Path: "/b", Size: 2, Includes: []key.Include{{Name: "<a>", File: 0}}},
			{Path: "/c", Size: 3},
		},
		reads: []Read{
			{Path: "/a", File: 0, Stamp: files.Stamp{Size: 1}},
			{Path: "/b", File: 1, Stamp: files.Stamp{Size: 2}, Settled: true},
			{Path: "/c", File: 2, Stamp: files.Stamp{Size: 3}},
		},
		probes: []files.Probe{{Path: "/d", Kind: files.Nothing}, {Path: "/e", Kind: files.Directory}, {Path: "/e", Kind: files.RealDirectory}},
	}
}

// FuzzManifest: whatever is read is written back as it was, so there is one
// encoding of a manifest.
func FuzzManifest(f *testing.F) {
	f.Add(unsigned(goodManifest().Append(nil, key.Digest{1})))
	f.Add(unsigned((&Manifest{}).Append(nil, key.Digest{1})))
	f.Fuzz(func(t *testing.T, b []byte) {
		sum := namedSum(b, key.Digest{1})
		b = append(bytes.Clone(b), sum[:]...)
		m, err := Parse(b, key.Digest{1})
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%v is no ErrManifest", err)
			}
			return
		}
		if again := m.Append(nil, key.Digest{1}); !bytes.Equal(again, b) {
			t.Errorf("%x is written as %x", b, again)
		}
	})
}

// unsigned returns an encoding without its digest, which the fuzzer would not
// hit upon.
func unsigned(b []byte) []byte { return b[:len(b)-sha256.Size] }

func TestParseManifestRefuses(t *testing.T) {
	t.Parallel()
	good := goodManifest().Append(nil, key.Digest{1})
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if _, err := Parse(bad, key.Digest{1}); !errors.Is(err, ErrInvalid) {
			t.Fatalf("with byte %d changed: %v", i, err)
		}
		if _, err := Parse(good[:i], key.Digest{1}); !errors.Is(err, ErrInvalid) {
			t.Fatalf("cut to %d bytes: %v", i, err)
		}
	}
	if _, err := Parse(append(bytes.Clone(good), 0), key.Digest{1}); !errors.Is(err, ErrInvalid) {
		t.Errorf("with a byte more: %v", err)
	}
	if _, err := Parse(good, key.Digest{2}); !errors.Is(err, ErrInvalid) {
		t.Errorf("under another name: %v", err)
	}
}

// Parts that do not fit together are no manifest.
func TestParseManifestRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	if _, err := Parse(goodManifest().Append(nil, key.Digest{1}), key.Digest{1}); err != nil {
		t.Fatal(err)
	}
	tests := map[string]func(*Manifest){
		"a file that is not there":      func(m *Manifest) { m.includes[1].File = 3 },
		"files in another order":        func(m *Manifest) { m.includes[0].File, m.includes[1].File = 2, 0 },
		"a file that nothing leads to":  func(m *Manifest) { m.includes = m.includes[:1] },
		"a path that was not read":      func(m *Manifest) { m.files[2].Path = "/x" },
		"a path of another file":        func(m *Manifest) { m.reads[2].File = 0 },
		"a path of a file that is none": func(m *Manifest) { m.reads[2].File = 3 },
		"a path twice":                  func(m *Manifest) { m.reads = append(m.reads, m.reads[2]) },
		"paths out of order":            func(m *Manifest) { m.reads[0], m.reads[1] = m.reads[1], m.reads[0] },
		"probes out of order":           func(m *Manifest) { m.probes[1], m.probes[2] = m.probes[2], m.probes[1] },
		"a probe that is a file":        func(m *Manifest) { m.probes[2].Kind = files.Regular },
		"a size below 0":                func(m *Manifest) { m.files[2].Size = -1 },
		"a line to a file far away":     func(m *Manifest) { m.includes[2].File = 1 << 31 },
	}
	for name, change := range tests {
		m := goodManifest()
		change(m)
		if _, err := Parse(m.Append(nil, key.Digest{1}), key.Digest{1}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
