package pocl

import (
	"bytes"
	"strings"
	"testing"
)

// A binary of PoCL gets a directory of its own, a new one each time, and stays what it
// is otherwise; what is none is refused.
func TestUnshared(t *testing.T) {
	t.Parallel()
	const magic, version, more = "poclbin\x00", "\x09\x00\x00\x00", "count, flags, xx"
	binary := func(start, version, directory string) []byte {
		name := make([]byte, 41)
		copy(name, directory)
		return append([]byte(start+"device**"+version+more+string(name)), "code"...)
	}
	letters := strings.Repeat("ABCDEFGHIJKLMNOP", 3)[:37]
	for _, directory := range []string{"LM/" + letters, "_UNCACHED_AGJU3I"} {
		given := binary(magic, version, directory)
		first, err := unshared(given)
		if err != nil {
			t.Fatal(err)
		}
		second, err := unshared(given)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(first, second) || !bytes.Equal(given, binary(magic, version, directory)) {
			t.Errorf("%s: %q and %q of %q", directory, first, second, given)
		}
		for _, own := range [][]byte{first, second} {
			name := own[36 : 36+41]
			if !bytes.HasPrefix(name, []byte("_UNCACHED_")) || bytes.IndexByte(name, 0) != 40 || len(own) != len(given) ||
				!bytes.Equal(own[:36], given[:36]) || string(own[77:]) != "code" {
				t.Errorf("%s: %q", directory, own)
			}
			if _, err := unshared(own); err != nil {
				t.Errorf("%q: %v", own, err)
			}
		}
	}
	for name, b := range map[string][]byte{
		"empty":            nil,
		"short":            binary(magic, version, "_UNCACHED_AGJU3I")[:76],
		"another format":   binary("poclben\x00", version, "_UNCACHED_AGJU3I"),
		"another version":  binary(magic, "\x0a\x00\x00\x00", "_UNCACHED_AGJU3I"),
		"no directory":     binary(magic, version, ""),
		"another's":        binary(magic, version, "LM/"+strings.ToLower(letters)),
		"a shorter one":    binary(magic, version, "LM/"+letters[1:]),
		"not ended":        binary(magic, version, "_UNCACHED_"+letters),
		"something behind": append(binary(magic, version, "_UNCACHED_AGJU3I")[:70], "abcdefghijkl"...),
	} {
		if own, err := unshared(b); err == nil {
			t.Errorf("%s: %q", name, own)
		}
	}
}
