package scan

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/deps/internal/lexer"
	"github.com/kernstash/kernstash/internal/timing"
)

// Of random lines of what the scanner knows, skimmed or not, the same is found. FuzzScan
// goes on with that.
func TestSkimTellsTheSame(t *testing.T) {
	t.Parallel()
	parts := []string{
		"a", " ", "\t", "1", ".", "'", "\"", "/", "*", "//", "/*", "*/", "#", "# ", "#include", "define", "if", "pragma", "\n", "\n", "\n", "<x.h>", "\"y.h\"",
		"é", "\u00a0", "\xff", "\\", "\\\n", "\r", "?", "%", "L", "R\"(", ")\"", "u8", "0x1'2", "__LINE__", "__global", "x = y / z;", "import", "asm", "##", "__DATE__", "__has_include(<z.h>)", "_Pragma",
	}
	skimmed := 0
	for seed := range uint32(40_000) {
		var b strings.Builder
		for x := seed*2654435761 + 1; b.Len() < 60; x = x*1664525 + 1013904223 {
			b.WriteString(parts[x>>8%uint32(len(parts))])
		}
		text, _, _ := lexer.Logical([]byte(b.String()))
		if isSkimmed(text) {
			skimmed++
		}
		scanAlone([]byte(b.String()))
	}
	if skimmed < 1000 {
		t.Errorf("only %d were skimmed", skimmed)
	}
}

// What people wrote, likewise.
func TestSkimTellsTheSameOfLibraries(t *testing.T) {
	t.Parallel()
	skimmed, all := 0, 0
	for _, pattern := range []string{"/usr/share/hashcat/OpenCL/*.cl", "/usr/include/thrust/*.h", "/usr/include/CL/*.h", "/usr/include/cub/*/*.cuh"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			code, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if text, _, _ := lexer.Logical(code); isSkimmed(text) {
				skimmed++
			}
			all++
			scanAlone(code)
			scanAlone(bytes.ReplaceAll(bytes.ReplaceAll(code, []byte("##"), nil), []byte("asm"), nil))
		}
	}
	t.Logf("%d of %d sources are skimmed", skimmed, all)
}

// generated is code of a program that writes code.
func generated(kernels int) []byte {
	var b bytes.Buffer
	for k := range kernels {
		fmt.Fprintf(&b, "kernel void heavy%d(global uint *a) {\n uint x = a[get_global_id(0)];\n", k)
		for s := range 120 {
			fmt.Fprintf(&b, " x ^= x << 13; x ^= x >> 17; x ^= x << 5; x = x * %du + (x >> 7);\n", (k*2654435761+s*40503)&0xffffffff|1)
		}
		b.WriteString(" a[get_global_id(0)] = x;\n}\n")
	}
	return b.Bytes()
}

// TestTimingOfSkim: half a megabyte of code that tells nothing takes half of the time,
// at most, of looking at every name.
func TestTimingOfSkim(t *testing.T) {
	timing.Only(t)
	code := generated(60)
	best := func(f func()) time.Duration {
		least := time.Hour
		for range 50 {
			begin := time.Now()
			f()
			least = min(least, time.Since(begin))
		}
		return least
	}
	whole := best(func() { Scan(code, &Traces{}) })
	skimmed := best(func() { Scan(code, &Traces{Alone: true}) })
	t.Logf("%d bytes: %v, skimmed %v", len(code), whole, skimmed)
	if skimmed > whole/2 {
		t.Errorf("skimmed in %v, whole in %v", skimmed, whole)
	}
}
