package programs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/key"
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
		got := []string{digest(p.Texts[key.OpenCLC]), digest(p.Texts[key.SPIRV]), p.Options}
		if want := made[p.Name]; strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: is %q, was made as %q: run kernels/compile.sh", p.Name, got, want)
		}
		if module := p.Texts[key.SPIRV]; !bytes.HasPrefix(module, []byte{3, 2, 0x23, 7}) || !bytes.Contains(module, append([]byte(p.Name), 0)) {
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
		for kind, text := range p.Texts {
			if bytes.Equal(a.Texts[kind], b.Texts[kind]) {
				t.Errorf("%s, %v: two marks make one program", p.Name, kind)
			}
			if kind != key.SPIRV && !bytes.HasSuffix(a.Texts[kind], text) {
				t.Errorf("%s, %v: more than the mark changed", p.Name, kind)
			}
		}
		is, was := a.Texts[key.SPIRV], p.Texts[key.SPIRV]
		if !bytes.Equal(is[12:], was[12:]) || !bytes.Equal(is[:8], was[:8]) {
			t.Errorf("%s: more than the mark changed", p.Name)
		}
	}
	if bytes.Equal(All()[0].Texts[key.SPIRV], All()[0].Fresh("x").Texts[key.SPIRV]) {
		t.Error("a mark changed the program itself")
	}
}
