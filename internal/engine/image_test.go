package engine

import (
	"strings"
	"testing"

	"github.com/kernstash/kernstash/key"
)

// What is remembered is what is found: of the same code, and of the same kind.
func TestScanned(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("// nothing\n", minScanKept/8)
	for _, c := range []struct {
		name           string
		kind           key.Kind
		code           string
		reads, against bool
	}{
		{"plain", key.OpenCLC, long, false, false},
		{"reads", key.OpenCLC, long + "#include \"a.h\"\n", true, false},
		{"time", key.OpenCLC, long + "int t = __TIME__;\n", false, true},
		{"the same of another kind", key.SPIRV, long + "int t = __TIME__;\n", false, false},
		{"short", key.OpenCLC, "int t = __TIME__;\n", false, true},
	} {
		img, err := key.NewImageSet(key.Unit{Kind: c.kind, Code: []byte(c.code)})
		if err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"scanned", "remembered"} {
			if got := scans.unit(img, 0); got.reads != c.reads || got.uncacheable.None() == c.against {
				t.Errorf("%s, %s: reads %v, against %v", c.name, when, got.reads, got.uncacheable)
			}
		}
	}
}
