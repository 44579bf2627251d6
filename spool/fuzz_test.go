package spool

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/kernstash/kernstash/key"
)

func FuzzParse(f *testing.F) {
	img, err := key.NewImage(key.OpenCLC, []byte("kernel void k() {}"))
	if err != nil {
		f.Fatal(err)
	}
	j := Job{
		Kind: Capture, Recipe: &key.Recipe{
			Device: key.Device{API: "opencl"}, Image: img, Options: key.BuildOptions{Attributes: []key.Pair{{Name: "a", Value: "1"}}},
		},
		Environment: Environment{Variables: []key.Pair{{Name: "A", Value: "b"}}, Dir: "/x"}, Log: "log", HasLog: true,
	}
	b, err := j.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		// A fuzzer guesses no sums, so it gets the right one.
		if line, rest, ok := bytes.Cut(b, []byte("\n")); ok && len(line) > 8 {
			sum := crc32.Checksum(rest, crc32.MakeTable(crc32.Castagnoli))
			b = append(fmt.Appendf(bytes.Clone(line[:len(line)-8]), "%08x\n", sum), rest...)
		}
		j, err := Parse(b)
		if err != nil {
			return
		}
		again, err := j.Encode()
		if err != nil {
			t.Fatalf("read, but not written: %v", err)
		}
		if k, err := Parse(again); err != nil || k.Name() != j.Name() || k.Environment.Fingerprint() != j.Environment.Fingerprint() {
			t.Fatalf("read, written and read it is another: %v", err)
		}
	})
}
