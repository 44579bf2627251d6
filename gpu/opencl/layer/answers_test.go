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

// Of a program whose answer is read when it is asked for nothing is kept but where that
// is: an application may have thousands of them, with large sources.
func TestAnswersKeepLittle(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	l := openLayer(t, root)
	h := newHost(t, l, device(t, "INTEL"))
	text := "/* " + strings.Repeat("x", 1<<20) + " */\n" + source(1)
	if p := h.build(text, &none); p.String() != "built" {
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
	answer := bytes.Repeat([]byte("PTX "), 100_000)
	a.Binaries = append(a.Binaries, store.Binary{Form: store.FormIntermediate, Data: answer})
	bin, err := format.EncodeBin(header.Key, a)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paths[0], bytes.Join(bin.Parts, nil), 0o600); err != nil {
		t.Fatal(err)
	}

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
