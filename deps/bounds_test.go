//go:build linux || darwin

package deps

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/deps/internal/scan"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
)

// numbered returns so many lines, each with its number in it.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Sources that are made to keep the tracker busy are given up in time. What took
// minutes takes less than a second.
func TestTimingOfTrackBounds(t *testing.T) {
	timing.Only(t)
	rounds := map[string]string{"m.cl": "#define N0 \"h0.h\"\n#include N0\n#include \"big.h\"\n", "big.h": numbered(20_000, "#if X%d\n#endif\n")}
	for i := range 190 {
		rounds[fmt.Sprintf("h%d.h", i)] = fmt.Sprintf("#define N%d \"h%d.h\"\n#include N%d\n", i+1, i+1, i+1)
	}
	for name, texts := range map[string]map[string]string{
		"conditions without comments":     {"a.h": numbered(300_000, "#if X%d\n#endif\n")},
		"conditions before open comments": {"a.h": numbered(300_000, "#if X%d // /*\n#endif\n")},
		"macros beside one that asks":     {"a.h": "#define H(x) __has_include(x)\n" + numbered(300_000, "#define M%d x y z\n")},
		"macros beside many that ask":     {"a.h": "#define A __has_include\n" + numbered(90, "#define A_%d A\n") + numbered(300_000, "#define M%d x y z\n")},
		"a line of questions":             {"a.h": "#if " + strings.Repeat("__has_include(<q.h>) + ", 1<<18) + "0\n#endif\n"},
		"rounds of macros":                rounds,
	} {
		t.Run(name, func(t *testing.T) {
			if texts["m.cl"] == "" {
				texts["m.cl"] = "#include \"a.h\"\n"
			}
			dir := tree(t, texts)
			start := time.Now()
			_, r := Track(key.Unit{Kind: key.OpenCLC, Code: []byte(texts["m.cl"])}, nil, Search{Dir: dir, Main: dir})
			if took := time.Since(start); took > files.MaxTime+5*time.Second {
				t.Errorf("it took %v: %v", took, r)
			}
		})
	}
}

// What is kept of directives is bounded, in one file and in many.
func TestTrackBoundsDirectives(t *testing.T) {
	t.Parallel()
	half := strings.Repeat("#define A\n", scan.MaxDirectives/2+1)
	for name, texts := range map[string]map[string]string{
		"too many directives":   {"a.h": half + half + "\n#define A\n"},
		"too many header files": {"a.h": half + "#include \"b.h\"\n", "b.h": half},
	} {
		dir := tree(t, texts)
		u := key.Unit{Kind: key.OpenCLC, Code: []byte("#include \"a.h\"\n")}
		if err := unhurried(u, Search{Dir: dir, Main: dir}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want %q", err, name)
		}
	}
}

// A file system that answers late costs no more than the bound.
func TestTrackGivesUpOnSlowFiles(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.h": ""})
	slow := files.OS
	var looks atomic.Int64
	slow.Look = func(path string) (files.Kind, files.Stamp, error) {
		looks.Add(1)
		time.Sleep(10 * time.Millisecond)
		return files.OS.Look(path)
	}
	u := key.Unit{Kind: key.OpenCLC, Code: []byte(numbered(1000, "#include \"a%d.h\"\n"))}
	tr := newTracker(slow, nil, u, nil, Search{Dir: dir, Main: dir})
	tr.disk.Until = time.Now().Add(100 * time.Millisecond)
	if _, err := tr.track(); err == nil || !strings.Contains(err.Error(), files.ErrSlow.Error()) {
		t.Errorf("error %v, want %v", err, files.ErrSlow)
	}
	if n := looks.Load(); n > 100 { // of a thousand; they take 10 ms, and 100 ms are allowed
		t.Errorf("%d looks", n)
	}
}
