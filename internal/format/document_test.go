package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Readers written from docs/FORMAT.md alone. They share no code with the
// package, so the document and the code cannot drift apart.

// cursor reads a table from the front.
type cursor struct {
	t *testing.T
	b []byte
}

func (c *cursor) take(n uint64) []byte {
	c.t.Helper()
	if uint64(len(c.b)) < n {
		c.t.Fatalf("%d bytes wanted, %d left", n, len(c.b))
	}
	v := c.b[:n]
	c.b = c.b[n:]
	return v
}

func (c *cursor) u32() uint64  { return uint64(binary.LittleEndian.Uint32(c.take(4))) }
func (c *cursor) u64() uint64  { return binary.LittleEndian.Uint64(c.take(8)) }
func (c *cursor) text() string { return string(c.take(c.u32())) }

func sha(b ...[]byte) []byte {
	s := sha256.Sum256(bytes.Join(b, nil))
	return s[:]
}

// xxh64 is what xxhsum -H1 says of testArtifact's binaries.
var xxh64 = map[string]uint64{"code\x00": 0x85959b7e7bb3cf25, "\x00": 0xe934a84adb052768}

func TestDocumentDescribesBin(t *testing.T) {
	t.Parallel()
	k, want := testRecipe(t).Key(), testArtifact()
	file := encode(t, k, want)
	c := &cursor{t, file}
	if m := string(c.take(8)); m != "kstbin\r\n" {
		t.Errorf("magic %q", m)
	}
	version, h := c.u32(), c.u32()
	keys := c.take(160)
	created, cost, p := int64(c.u64()), int64(c.u64()), c.u64()
	logSum := c.take(32)
	l, binaries, variants, kernels, zero := c.u32(), c.u32(), c.u32(), c.u32(), c.u64()
	if version != 4 || zero != 0 || uint64(len(file)) != h+p {
		t.Errorf("version %d, zero %d, %d bytes of header, %d of payload, %d of file", version, zero, h, p, len(file))
	}
	if !bytes.Equal(keys, bytes.Join([][]byte{k.Device[:], k.Image[:], k.Constants[:], k.Options[:], k.Sum[:]}, nil)) {
		t.Error("another key")
	}
	if !bytes.Equal(sha(file[:h-32]), file[h-32:h]) || !bytes.Equal(sha(file[h:h+l]), logSum) {
		t.Error("a digest is not over what the document says")
	}
	got := &store.Artifact{Log: string(file[h : h+l])}
	got.Cost, got.Created = want.Cost, want.Created
	if created != want.Created.UnixNano() || cost != int64(want.Cost) {
		t.Errorf("created %d, cost %d", created, cost)
	}
	code := file[h+l:]
	for range binaries {
		form, pad, n := c.u32(), c.u32(), c.u64()
		if pad != 0 {
			t.Error("the second number of a binary is not 0")
		}
		if sum := c.u64(); sum != xxh64[string(code[:n])] {
			t.Errorf("XXH64 of a binary: %x", sum)
		}
		if !bytes.Equal(c.take(32), sha(code[:n])) {
			t.Error("the digest of a binary is not over its code")
		}
		got.Binaries = append(got.Binaries, store.Binary{Form: store.Form(form), Data: code[:n]})
		code = code[n:]
	}
	for range variants {
		got.Variants = append(got.Variants, c.text())
	}
	for range kernels {
		kernel := store.Kernel{Name: c.text(), Attributes: c.text()}
		for range c.u32() {
			kernel.Args = append(kernel.Args, store.Arg{
				Name: c.text(), TypeName: c.text(), Address: c.u64(), Access: c.u64(), TypeQual: c.u64(),
			})
		}
		got.Kernels = append(got.Kernels, kernel)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("artifact (-want +read):\n%s", d)
	}
	if rest := uint64(len(c.b)); rest != 32+p || len(code) != 0 {
		t.Errorf("%d bytes are left after the lists, %d after the code", rest-p, len(code))
	}
}

// value reads one value of the canonical encoding and returns its u64, its
// bytes, and both as they stand in the file.
func (c *cursor) value(kind byte) (n uint64, v, raw []byte) {
	c.t.Helper()
	start := c.b
	if k := c.take(1)[0]; k != kind {
		c.t.Fatalf("type %q, want %q", k, kind)
	}
	n = c.u64()
	if kind == 't' || kind == 'b' {
		v = c.take(n)
	}
	return n, v, start[:len(start)-len(c.b)]
}

// skip reads values of these types and returns them as they stand.
func (c *cursor) skip(kinds string) (raw []byte) {
	for _, k := range []byte(kinds) {
		_, _, r := c.value(k)
		raw = append(raw, r...)
	}
	return raw
}

// list reads a count and so many times the kinds.
func (c *cursor) list(kinds string) []byte {
	n, _, raw := c.value('n')
	raw = bytes.Clone(raw)
	for range n {
		raw = append(raw, c.skip(kinds)...)
	}
	return raw
}

// attributes reads pairs, which are these, name and value in one, and returns them as they stand.
func (c *cursor) attributes(want ...string) []byte {
	n, _, raw := c.value('n')
	raw = bytes.Clone(raw)
	var got []string
	for range n {
		_, name, rawName := c.value('t')
		_, value, rawValue := c.value('t')
		got = append(got, string(name)+string(value))
		raw = append(append(raw, rawName...), rawValue...)
	}
	if !slices.Equal(got, want) {
		c.t.Errorf("attributes %q, want %q", got, want)
	}
	return raw
}

func TestDocumentDescribesSrcAndKeys(t *testing.T) {
	t.Parallel()
	rec := testRecipe(t)
	included := func(path string, includes ...key.Include) key.File {
		return key.File{Path: path, Digest: key.Digest(sha([]byte(path))), Size: 3, Includes: includes}
	}
	img, err := new(key.Image).Tracked([]key.Unit{
		rec.Image.Units()[0],
		{Kind: key.SPIRV, Code: []byte("spirv\x00")},
		{
			Kind: key.OpenCLC, Code: []byte("two lines"), Includes: []key.Include{{Name: "<a.h>", File: 0}, {Name: "<c.h>", File: -1}},
			Files: []key.File{included("/a.h", key.Include{Name: `"b.h"`, File: 1}), included("/b.h")},
		},
		{
			Kind: key.OpenCLC, Code: []byte("one line"), Includes: []key.Include{{Name: "<a.h>", File: 0}},
			Files: []key.File{included("/a.h")}, Dir: "/d",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	rec.Image = img
	rec.Options.Variables = []key.Pair{{Name: "V", Value: "1"}}
	rec.Options.Attributes = []key.Pair{{Name: "B", Value: "2"}, {Name: "A", Value: "4"}, {Name: "A", Value: "3"}}
	rec.Options.Search = []string{"-I", "/"}
	rec.Options.Unkeyed = []key.Pair{{Name: "U", Value: "5"}}
	file, err := EncodeSrc(rec)
	if err != nil {
		t.Fatal(err)
	}
	c := &cursor{t, file}
	if m := string(c.take(8)); m != "kstsrc\r\n" {
		t.Errorf("magic %q", m)
	}
	seal := []byte("a seal")
	sealed, err := EncodeSealedSrc(rec, seal)
	if err != nil {
		t.Fatal(err)
	}
	if want := bytes.Join([][]byte{file[:8], {4, 1, 0, 0}, file[12:], seal}, nil); !bytes.Equal(sealed, want) {
		t.Errorf("with a seal it is\n%x, the document\n%x", sealed, want)
	}
	version, header, r, sum := c.u32(), c.u32(), c.u64(), c.take(32)
	if version != 4 || header != 56 || uint64(len(file)) != 56+r || !bytes.Equal(sum, sha(file[56:])) {
		t.Errorf("version %d, header %d, recipe %d, file %d", version, header, r, len(file))
	}
	tag := "kernstash recipe\x00"
	if got := string(c.take(uint64(len(tag)))); got != tag {
		t.Errorf("tag %q", got)
	}
	if schema, _, _ := c.value('u'); schema != 4 {
		t.Errorf("schema %d", schema)
	}
	device := sha([]byte("kernstash device\x00"), c.skip("ttttt"), c.list("tt"), c.list("tt"))

	sequence, _, rawSequence := c.value('u')
	units, _, rawCount := c.value('n')
	var unitSums []string
	for range units {
		unit := []byte("kernstash unit\x00")
		unit = append(unit, c.skip("ub")...)
		headers, _, raw := c.value('n')
		unit = append(unit, raw...)
		for range headers {
			unit = append(unit, c.skip("t")...)
			_, content, _ := c.value('b')
			unit = append(unit, sha(content)...)
		}
		unit = append(unit, c.list("tu")...)
		files, _, raw := c.value('n')
		unit = append(unit, raw...)
		var paths []byte
		for range files {
			paths = append(paths, c.skip("t")...)
			size, digest, _ := c.value('b')
			if size != 32 {
				t.Errorf("a digest of %d bytes", size)
			}
			c.skip("u")
			unit = append(append(unit, digest...), c.list("tu")...)
		}
		n, _, raw := c.value('t')
		if unit = append(unit, raw...); n > 0 {
			unit = append(unit, paths...)
		}
		unitSums = append(unitSums, string(sha(unit)))
	}
	if units != 4 || sequence != 0 || !sort.StringsAreSorted(unitSums) {
		t.Errorf("%d units, sorted: %v", units, sort.StringsAreSorted(unitSums))
	}
	image := sha([]byte("kernstash image\x00"), rawSequence, rawCount, []byte(strings.Join(unitSums, "")))
	constants := sha([]byte("kernstash constants\x00"), c.list("ub"))
	options := sha([]byte("kernstash options\x00"), c.list("t"), c.list("t"), c.skip("uu"), c.list("tt"), c.attributes("A4", "A3", "B2"))
	c.list("t")
	if c.attributes("U5"); len(c.b) != 0 {
		t.Errorf("%d bytes are left", len(c.b))
	}
	all := sha([]byte("kernstash key\x00"), []byte{4, 0, 0, 0}, device, image, constants, options)
	k := rec.Key()
	for name, pair := range map[string][2][]byte{
		"device": {device, k.Device[:]}, "image": {image, k.Image[:]}, "constants": {constants, k.Constants[:]},
		"options": {options, k.Options[:]}, "sum": {all, k.Sum[:]},
	} {
		if !bytes.Equal(pair[0], pair[1]) {
			t.Errorf("%s: the document's digest differs from the code's", name)
		}
	}
}

// TestDocumentNamesTheConstants: what the tables say in words and numbers.
func TestDocumentNamesTheConstants(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	for _, want := range []string{
		"`kstbin\\r\\n`", "`kstsrc\\r\\n`", "`ksttally`", "1 intermediate, 2 deferred, 3 final",
		"1 OpenCL C, 2 SPIR-V, 3 CUDA C++, 4 PTX, 5 HIP C++, 6 opaque",
		"at most 4 GiB", "288 … 64 MiB", "| 12 | 4 | u32 | length of the header: 56 |",
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("docs/FORMAT.md does not say %q", want)
		}
	}
	if MaxSize != 4<<30 || MaxHeader != 64<<20 || minHeader != 288 || Version != 4 || key.Schema != 4 {
		t.Error("docs/FORMAT.md says other bounds")
	}
}
