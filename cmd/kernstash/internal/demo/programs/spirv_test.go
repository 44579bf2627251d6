package programs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// TestSPIRVIsOfTheSources: kernels/compile.sh made the SPIR-V of what the programs are
// now, with the options that they have now.
func TestSPIRVIsOfTheSources(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("kernels/spirv.txt")
	if err != nil {
		t.Fatal(err)
	}
	made := make(map[string][]string)
	for line := range strings.Lines(string(b)) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 4)
		made[words[0]] = append(words[1:], "")[:3]
	}
	for _, p := range append(All(), Warm()) {
		got := []string{digest([]byte(p.Source)), digest(p.SPIRV), p.Options}
		if want := made[p.Name]; strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: is %q, was made as %q: run kernels/compile.sh", p.Name, got, want)
		}
		if !bytes.HasPrefix(p.SPIRV, []byte{3, 2, 0x23, 7}) || !bytes.Contains(p.SPIRV, append([]byte(p.Name), 0)) {
			t.Errorf("%s: not SPIR-V with a kernel of that name", p.Name)
		}
	}
}

func digest(b []byte) string {
	d := sha256.Sum256(b)
	return hex.EncodeToString(d[:])
}

func TestFreshProgramsDiffer(t *testing.T) {
	t.Parallel()
	for _, p := range All() {
		a, b := p.Fresh("one"), p.Fresh("two")
		if a.Source == b.Source || a.CUDA == b.CUDA || bytes.Equal(a.SPIRV, b.SPIRV) {
			t.Errorf("%s: two marks make one program", p.Name)
		}
		if !bytes.Equal(a.SPIRV[12:], p.SPIRV[12:]) || !bytes.Equal(a.SPIRV[:8], p.SPIRV[:8]) || !strings.HasSuffix(a.Source, p.Source) {
			t.Errorf("%s: more than the mark changed", p.Name)
		}
	}
	if bytes.Equal(All()[0].SPIRV, All()[0].Fresh("x").SPIRV) {
		t.Error("a mark changed the program itself")
	}
}
