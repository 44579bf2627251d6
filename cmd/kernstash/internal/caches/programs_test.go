package caches

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// texts are texts with their lengths before them, as DPC++ writes what a program is of.
func texts(all ...string) (b []byte) {
	for _, text := range all {
		b = append(binary.LittleEndian.AppendUint64(b, uint64(len(text))), text...)
	}
	return b
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name string, b []byte) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const gpu, old = "Intel(R) Level-Zero/Arc A770/1.3/1.3.30000", "Intel(R) Level-Zero/Arc A770/1.3/1.3.29735"
	for i, device := range []string{gpu, old, gpu} {
		item := fmt.Sprintf("sycl/17/28/39/%d/0", i)
		put(item+".src", texts(device, "-O2", "", "image"))
		put(item+".bin", make([]byte, 100))
	}
	put("sycl/17/28/39/4/1.bin", make([]byte, 7))        // nobody says of which device
	put("sycl/17/28/39/5/0.src", texts(gpu, "", "", "")) // no program
	put("sycl/17/28/39/6/0.bin", make([]byte, 5))        // of a device of too long a name
	put("sycl/17/28/39/6/0.src", texts(strings.Repeat("x", maxDevice+1)))
	put("sycl/17/28/0.bin", make([]byte, 3))     // not where a program is
	put("sycl/17/a/39/4/0.bin", make([]byte, 3)) // nor that
	put("neo/0/1/0123456789abcdef.cl_cache", make([]byte, 10))
	put("neo/0123456789abcdef.cl_cache", make([]byte, 10)) // as earlier versions have it
	put("neo/f/e/fedcba9876543210.l0_cache", make([]byte, 20))
	put("neo/f/e/tmp.cl_cache", make([]byte, 20))
	put("neo/config.file", make([]byte, 8))
	in := Input{Get: environ("HOME="+dir, "SYCL_CACHE_DIR="+dir+"/sycl", "NEO_CACHE_DIR="+dir+"/neo"), Limits: Usual}
	r, err := Scan(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string][]Programs)
	for _, c := range r.Caches {
		slices.SortFunc(c.Programs, func(a, b Programs) int { return strings.Compare(a.Device+a.Kind, b.Device+b.Kind) })
		got[c.Tool] = c.Programs
	}
	want := map[string][]Programs{
		"dpcpp": {{Device: old, Count: 1, Bytes: 100}, {Device: gpu, Count: 2, Bytes: 200}, {Device: unknown, Count: 2, Bytes: 12}},
		"neo":   {{Kind: "cl_cache", Count: 2, Bytes: 20}, {Kind: "l0_cache", Count: 1, Bytes: 20}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var text bytes.Buffer
	r.WriteText(&text, time.Now())
	if !strings.Contains(text.String(), "\n    2 programs, 200 B: "+gpu+"\n") {
		t.Errorf("%s", &text)
	}
}

// TestProgramsAreBounded: a cache that names very many devices takes no memory for them.
func TestProgramsAreBounded(t *testing.T) {
	t.Parallel()
	var c Cache
	for i := range 10 * maxDevices {
		c.count(Programs{Device: fmt.Sprint(i), Bytes: 1})
	}
	if last := c.Programs[len(c.Programs)-1]; len(c.Programs) != maxDevices+1 || last.Device != others || last.Count != 9*maxDevices {
		t.Errorf("%d devices, then %+v", len(c.Programs), last)
	}
}

func FuzzFirstText(f *testing.F) {
	f.Add(texts("device", "options"))
	f.Add(texts("device")[:10])
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 127})
	f.Fuzz(func(t *testing.T, b []byte) {
		text, err := firstText(bytes.NewReader(b))
		if err == nil && (len(text) > 3*maxDevice || !strings.HasPrefix(strings.ToValidUTF8(string(b[8:]), "?"), strings.TrimRight(text, "?"))) {
			t.Errorf("%q of %q", text, b)
		}
	})
}
