//go:build linux

package intel_test

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"os"
	"testing"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/store"
)

// fnvSum is the sum that hits prints of a binary.
func fnvSum(b []byte) string {
	h := fnv.New64a()
	h.Write(b)
	return fmt.Sprintf("%016x", h.Sum64())
}

// A program is restored from the first binary of its artifact; what the application is
// answered when it asks for the binary is read when it does. Where that is damaged, or
// gone, the driver builds the program to be asked, and the next build makes the entry anew.
//
// NVIDIA's artifacts have two binaries, machine code and PTX. Here is Intel's driver, and
// an entry that was given a second one of the same length, as if the driver's own were
// that.
func TestAnswersAreReadLate(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	source := heavySource(4, 10)
	right := b.plain(t, source)
	cold := b.build(t, source)
	cold.expect(t, "cold", "compiled", right.sum)
	paths := b.entries(t)
	if len(paths) != 1 {
		t.Fatalf("entries %v", paths)
	}
	h, a, err := format.DecodeBin(read(t, paths[0]))
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.Repeat([]byte("PTX "), len(a.Binaries[0].Data)/4+1)[:len(a.Binaries[0].Data)]
	if len(other) < 128<<10 {
		t.Fatalf("%d bytes are read at once", len(other))
	}
	a.Binaries = append(a.Binaries, store.Binary{Form: store.FormIntermediate, Data: other})
	bin, err := format.EncodeBin(h.Key, a)
	if err != nil {
		t.Fatal(err)
	}
	write := func(file []byte) {
		t.Helper()
		if err := os.WriteFile(paths[0], file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := bytes.Join(bin.Parts, nil)
	write(file)
	b.build(t, source).expect(t, "two binaries", "disk", fnvSum(other))
	b.build(t, source, "HITS_GUARDED=1").expect(t, "memory that a collector guards", "disk", fnvSum(other))

	file[len(file)-10] ^= 1
	write(file)
	b.build(t, source).expect(t, "the second is damaged", "disk", right.sum)
	if left := b.entries(t); len(left) != 0 {
		t.Errorf("the damaged entry stays: %v", left)
	}
	b.build(t, source).expect(t, "after that", "compiled", right.sum)
	b.build(t, source).expect(t, "and then", "disk", right.sum)
}
