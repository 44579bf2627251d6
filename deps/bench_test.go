package deps_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
)

// heavy is code of a program that writes code.
func heavy() []byte {
	var b bytes.Buffer
	for k := range 60 {
		fmt.Fprintf(&b, "kernel void heavy%d(global uint *a) {\n uint x = a[get_global_id(0)];\n", k)
		for s := range 120 {
			fmt.Fprintf(&b, " x ^= x << 13; x ^= x >> 17; x ^= x << 5; x = x * %du + (x >> 7);\n", (k*2654435761+s*40503)&0xffffffff|1)
		}
		b.WriteString(" a[get_global_id(0)] = x;\n}\n")
	}
	return b.Bytes()
}

func benchmarkScanUnit(b *testing.B, code []byte) {
	b.ReportAllocs()
	b.SetBytes(int64(len(code)))
	for b.Loop() {
		if r := deps.ScanUnit(key.Unit{Kind: key.OpenCLC, Code: code}).Reason; !r.None() {
			b.Fatal(r)
		}
	}
}

// Half a megabyte that tells nothing.
func BenchmarkScanPlain(b *testing.B) { benchmarkScanUnit(b, heavy()) }

// The same where names have to be looked at.
func BenchmarkScanNames(b *testing.B) {
	benchmarkScanUnit(b, append(heavy(), "void f() { asm(\"nop\"); }\n"...))
}

// thrust is a unit with some hundred headers.
func thrust(b *testing.B) (u key.Unit, words []string, s deps.Search) {
	b.Helper()
	if _, err := os.Stat("/usr/include/thrust/sort.h"); err != nil {
		b.Skip(err)
	}
	dir := b.TempDir()
	return key.Unit{Kind: key.CUDACpp, Code: []byte("#include <thrust/sort.h>\n")}, []string{"-DTHRUST_HOST_SYSTEM=THRUST_HOST_SYSTEM_CPP", "-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP"},
		deps.Search{Dir: dir, Main: dir, System: []string{"/usr/include/c++/12", "/usr/include"}}
}

// All headers are read and scanned.
func BenchmarkTrack(b *testing.B) {
	u, words, s := thrust(b)
	deps.Track(u, words, s)
	b.ReportAllocs()
	for b.Loop() {
		if _, r := deps.Track(u, words, s); !r.None() {
			b.Fatal(r)
		}
	}
}

// The headers were read and scanned by a program before.
func BenchmarkTrackAgain(b *testing.B) {
	u, words, s := thrust(b)
	memory := new(deps.Memory)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		u.Code = fmt.Appendf(nil, "#include <thrust/sort.h>\nint n%d;\n", n)
		if _, r := memory.Track(u, words, s); !r.None() {
			b.Fatal(r)
		}
	}
}

// What a hit of a unit with headers costs.
func BenchmarkManifest(b *testing.B) {
	u, words, s := thrust(b)
	t, r := deps.Track(u, words, s)
	if !r.None() {
		b.Fatal(r)
	}
	name := deps.FirstKey(key.Digest{}, u, words, s)
	text := t.Manifest.Append(nil, name)
	b.ReportMetric(float64(len(t.Unit.Files)), "files")
	b.ReportAllocs()
	for b.Loop() {
		m, err := manifest.Parse(text, deps.FirstKey(key.Digest{}, u, words, s))
		if err != nil {
			b.Fatal(err)
		}
		if _, changed := m.Check(); changed != "" {
			b.Fatal(changed)
		}
	}
}
