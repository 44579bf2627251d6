//go:build !nogpu

package layer_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// heap is what is in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// withAnswer builds a program, and adds to its entry what NVIDIA's have: PTX, of 400,000 bytes,
// which CL_PROGRAM_BINARIES answers. It returns that, and the path of the entry.
func withAnswer(t *testing.T, l *layer.Layer, h *host, root string, r *layer.Request) (answer []byte, path string) {
	t.Helper()
	if p := h.do(r); p.String() != "built" {
		t.Fatal(p, p.reason, p.err)
	}
	l.Settle()
	counted(t, l, stats.DiskPuts, 1)
	paths, err := filepath.Glob(root + "/*/*/*/*/0.bin")
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	was, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	header, a, err := format.DecodeBin(was)
	if err != nil {
		t.Fatal(err)
	}
	answer = bytes.Repeat([]byte("PTX "), 100_000)
	a.Binaries = append(a.Binaries, store.Binary{Form: store.FormIntermediate, Data: answer})
	bin, err := format.EncodeBin(header.Key, a)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paths[0], bytes.Join(bin.Parts, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	return answer, paths[0]
}

// A hit reads no more than the machine code. The answer is read for who asks; if it is damaged
// there is none, and the entry goes.
func TestAnswersAreReadWhenAsked(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	l := openLayer(t, root)
	h := newHost(t, l, device(t, "INTEL"))
	answer, path := withAnswer(t, l, h, root, h.request(source(1), &none))
	before := l.Cache.Stats()
	p := h.build(source(1), &none)
	if p.String() != "restored" {
		t.Fatal(p, p.reason, p.err)
	}
	counted := l.Cache.Stats()
	if n, most := counted.Sub(before)[stats.DiskBytesRead], int64(len(p.binaries[0])+2000); n <= int64(len(p.binaries[0])) || n > most {
		t.Errorf("a hit reads %d bytes, want at most %d", n, most)
	}
	if got := l.Answer(p.number, 0); !bytes.Equal(got, answer) {
		t.Errorf("the answer has %d bytes, want those %d", len(got), len(answer))
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole[len(whole)-1] ^= 1
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	again := h.build(source(1), &none)
	if again.String() != "restored" || !bytes.Equal(again.binaries[0], p.binaries[0]) {
		t.Fatal(again, again.reason, again.err)
	}
	for range 2 {
		if got := l.Answer(again.number, 0); got != nil {
			t.Errorf("%d bytes of a damaged answer", len(got))
		}
	}
	if p := h.build(source(1), &none); p.String() != "built" {
		t.Errorf("after that it is %v", p)
	}
	l.Settle()
	counted = l.Cache.Stats()
	if counted[stats.Corrupt] != 1 || counted[stats.DiskPuts] != 2 {
		t.Errorf("%d corrupt, %d puts; want 1, 2", counted[stats.Corrupt], counted[stats.DiskPuts])
	}
}

// A program that is linked has its answer at once: none could be built to be asked for it.
func TestAnswersOfLinks(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	l := openLayer(t, root)
	h := newHost(t, l, device(t, "INTEL"))
	r := h.request(source(1), &none)
	r.What, r.Units[0].Options = layer.Link, &none
	answer, _ := withAnswer(t, l, h, root, r)
	p := h.do(r)
	if p.String() != "restored" || p.number != 0 || !bytes.Equal(p.served.Artifacts[0].Answer, answer) || p.served.Artifacts[0].Unread != 0 {
		t.Errorf("%v %s %v, number %d, an answer of %d bytes", p, p.reason, p.err, p.number, len(p.served.Artifacts[0].Answer))
	}
}

// Of a program whose answer is read when it is asked for nothing is kept but where that
// is: an application may have thousands of them, with large sources.
func TestAnswersKeepLittle(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	l := openLayer(t, root)
	h := newHost(t, l, device(t, "INTEL"))
	text := "/* " + strings.Repeat("x", 1<<20) + " */\n" + source(1)
	answer, _ := withAnswer(t, l, h, root, h.request(text, &none))
	const programs = 30
	restore := func() uint64 {
		t.Helper()
		p := h.build(text, &none)
		if p.String() != "restored" || p.number == 0 || p.served.Artifacts[0].Unread != int64(len(answer)) {
			t.Fatal(p, p.reason, p.err, p.number)
		}
		return p.number
	}
	restore()
	before := heap()
	var numbers []uint64
	for range programs {
		numbers = append(numbers, restore())
	}
	if more := heap() - before; more > programs*64<<10 {
		t.Errorf("%d programs keep %d bytes", programs, more)
	}
	for _, n := range numbers {
		if diff := cmp.Diff(len(answer), len(l.Answer(n, 0))); diff != "" {
			t.Fatal(diff)
		}
		l.Released(n)
	}
	if code := l.Answer(numbers[0], 0); code != nil {
		t.Errorf("%d bytes of a program that was given up", len(code))
	}
}
