//go:build !nogpu

package opencl_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// A binary of PoCL gets a directory of its own, a new one each time, and stays what it
// is otherwise; what is none is refused.
func TestUnshared(t *testing.T) {
	t.Parallel()
	const magic, version, more = "poclbin\x00", "\x09\x00\x00\x00", "count, flags, xx"
	binary := func(start, version, directory string) []byte {
		name := make([]byte, 41)
		copy(name, directory)
		return append([]byte(start+"device**"+version+more+string(name)), "code"...)
	}
	letters := strings.Repeat("ABCDEFGHIJKLMNOP", 3)[:37]
	for _, directory := range []string{"LM/" + letters, "_UNCACHED_AGJU3I"} {
		given := binary(magic, version, directory)
		first, err := opencl.Unshared(given)
		if err != nil {
			t.Fatal(err)
		}
		second, err := opencl.Unshared(given)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(first, second) || !bytes.Equal(given, binary(magic, version, directory)) {
			t.Errorf("%s: %q and %q of %q", directory, first, second, given)
		}
		for _, own := range [][]byte{first, second} {
			name := own[36 : 36+41]
			if !bytes.HasPrefix(name, []byte("_UNCACHED_")) || bytes.IndexByte(name, 0) != 40 || len(own) != len(given) ||
				!bytes.Equal(own[:36], given[:36]) || string(own[77:]) != "code" {
				t.Errorf("%s: %q", directory, own)
			}
			if _, err := opencl.Unshared(own); err != nil {
				t.Errorf("%q: %v", own, err)
			}
		}
	}
	for name, b := range map[string][]byte{
		"empty":            nil,
		"short":            binary(magic, version, "_UNCACHED_AGJU3I")[:76],
		"another format":   binary("poclben\x00", version, "_UNCACHED_AGJU3I"),
		"another version":  binary(magic, "\x0a\x00\x00\x00", "_UNCACHED_AGJU3I"),
		"no directory":     binary(magic, version, ""),
		"another's":        binary(magic, version, "LM/"+strings.ToLower(letters)),
		"a shorter one":    binary(magic, version, "LM/"+letters[1:]),
		"not ended":        binary(magic, version, "_UNCACHED_"+letters),
		"something behind": append(binary(magic, version, "_UNCACHED_AGJU3I")[:70], "abcdefghijkl"...),
	} {
		if own, err := opencl.Unshared(b); err == nil {
			t.Errorf("%s: %q", name, own)
		}
	}
}

// Processes that restore one program at the same time without PoCL's own cache do not
// take its files from one another.
func TestProcessesTogetherWithoutPoCLsCache(t *testing.T) {
	timing.Long(t)
	dir := t.TempDir()
	start := func() (a application) {
		out := child(t, "cached", rootVariable+"="+filepath.Join(dir, "root"), "POCL_CACHE_DIR="+filepath.Join(dir, "pocl"), "POCL_KERNEL_CACHE=0", "KERNSTASH_DIR=")
		if err := json.Unmarshal([]byte(out), &a); err != nil {
			t.Error(err)
		}
		return a
	}
	if a := start(); a.Stats.Get(stats.Builds) != 1 {
		t.Fatalf("the first: %v", a.Stats)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				if a := start(); a.Stats.Get(stats.DiskHits) != 1 || a.Stats.Get(stats.Builds) != 0 {
					t.Errorf("%v", a.Stats)
				}
			}
		})
	}
	all.Wait()
}

// Where nobody knows whether PoCL's cache is on, nothing is cached.
func TestPoCLsCacheUnknown(t *testing.T) {
	var a application
	out := child(t, "cached", rootVariable+"="+t.TempDir(), "POCL_CACHE_DIR="+t.TempDir(), "POCL_KERNEL_CACHE=off", "KERNSTASH_DIR=")
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatal(err)
	}
	if a.Stats.Get(stats.Of(reason.NotCacheableRuntime)) != 1 || a.Stats.Get(stats.DiskMisses) != 0 {
		t.Errorf("%v", a.Stats)
	}
}
