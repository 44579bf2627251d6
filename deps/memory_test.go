//go:build linux || darwin

package deps

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
)

// What is remembered of a header is what a scan of it finds, and a header that has
// changed is read again.
func TestRemembered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.h")
	old := time.Now().Add(-time.Hour)
	write := func(text string, age time.Duration) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old.Add(-age), old.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	reads := 0
	sys := files.OS
	remembered := new(Memory)
	sys.Look = func(path string) (files.Kind, files.Stamp, error) {
		k, s, err := files.OS.Look(path)
		s.Ctime = s.Mtime // which nobody can set back
		return k, s, err
	}
	sys.Read = func(path string, limit int64) ([]byte, files.Stamp, error) {
		reads++
		b, s, err := files.OS.Read(path, limit)
		s.Ctime = s.Mtime
		return b, s, err
	}
	track := func(k key.Kind) (*Tracking, string) {
		t.Helper()
		u := key.Unit{Kind: k, Code: []byte("#include \"a.h\"\nint __h, _include;\n")}
		var words []string
		if k == key.CUDACpp {
			words = []string{"-std=c++17"} // by default NVRTC 11 has no raw strings
		}
		tr, err := newTracker(sys, remembered, u, words, Search{Dir: dir, Main: dir}).track()
		if err != nil {
			return nil, err.Error()
		}
		return tr, ""
	}
	write("#include \"none.h\"\n", 0)
	first, why := track(key.OpenCLC)
	again, whyAgain := track(key.OpenCLC)
	if first == nil || again == nil || reads != 1 {
		t.Fatalf("%q, %q after %d reads, want 1", why, whyAgain, reads)
	}
	if diff := gocmp.Diff(first.Unit, again.Unit); diff != "" {
		t.Error(diff)
	}
	write("#define P(a, b) a##b\nint as;\n", time.Minute)
	for n := range 3 {
		// What the scan noted counts each time.
		if _, why := track(key.OpenCLC); why == "" || reads != 2 {
			t.Errorf("%d: %q after %d reads", n, why, reads)
		}
	}
	write("char *s = R\"(\n#include \"none.h\"\n)\";\n", 2*time.Minute)
	for range 2 {
		if _, why := track(key.CUDACpp); why != "" {
			t.Errorf("a raw string of C++: %s", why)
		}
		if _, why := track(key.OpenCLC); why == "" {
			t.Error("OpenCL C has no raw strings")
		}
	}
	if reads != 4 {
		t.Errorf("read %d times, want once as each kind", reads)
	}
	// NVRTC knows no #pragma GCC dependency.
	write("_Pragma(\"GCC dependency \\\"none.h\\\"\")\n", 3*time.Minute)
	for range 2 {
		if _, why := track(key.CUDACpp); why != "" {
			t.Errorf("dependency beside _Pragma, of NVRTC: %s", why)
		}
		if _, why := track(key.HIPCpp); why == "" {
			t.Error("clang knows dependency beside _Pragma")
		}
	}
	if reads != 6 {
		t.Errorf("read %d times, want once as each kind", reads)
	}
	remembered.forget()
	if _, why := track(key.CUDACpp); why != "" || reads != 7 {
		t.Errorf("%q after %d reads, want 7", why, reads)
	}
}

// A file that may change without its stamp showing it is not remembered.
func TestYoungIsNotRemembered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.h"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	reads := 0
	sys := files.OS
	remembered := new(Memory)
	sys.Read = func(path string, limit int64) ([]byte, files.Stamp, error) {
		reads++
		return files.OS.Read(path, limit)
	}
	for range 2 {
		u := key.Unit{Kind: key.OpenCLC, Code: []byte("#include \"a.h\"\n")}
		if _, err := newTracker(sys, remembered, u, nil, Search{Dir: dir, Main: dir}).track(); err != nil {
			t.Fatal(err)
		}
	}
	if reads != 2 {
		t.Errorf("read %d times, want 2", reads)
	}
}

// aged is a system in which every file is old enough to be remembered.
func aged() files.System {
	older := func(s files.Stamp) files.Stamp {
		s.Mtime -= int64(time.Hour)
		s.Ctime -= int64(time.Hour)
		return s
	}
	return files.System{
		Look: func(path string) (files.Kind, files.Stamp, error) {
			k, s, err := files.OS.Look(path)
			return k, older(s), err
		},
		LookAt: files.OS.LookAt,
		Read: func(path string, limit int64) ([]byte, files.Stamp, error) {
			b, s, err := files.OS.Read(path, limit)
			return b, older(s), err
		},
		Trusted: everywhere,
	}
}

// What is remembered changes nothing: the same files, probes, contents and reasons as of a
// tracker that reads each file itself, with room in memory or without.
func TestRememberingChangesNothing(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 5))
	for n := range 150 {
		texts, options := randomTree(random)
		dir := tree(t, texts)
		kind := []key.Kind{key.OpenCLC, key.CUDACpp, key.HIPCpp}[n%3]
		s := Search{Dir: dir, Main: dir}
		sys, remembered := aged(), new(Memory)
		if n%4 == 0 {
			remembered.bytes = maxHeld
		}
		// The memory is empty, then knows the files, then knows what another unit asked for.
		for _, more := range []string{"", "", "#define a __builtin_FILE()\n", ""} {
			u := key.Unit{Kind: kind, Code: []byte(texts["m.cl"] + more)}
			want, wantErr := newTracker(aged(), nil, u, options, s).track()
			got, err := newTracker(sys, remembered, u, options, s).track()
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%d: %v instead of %v", n, err, wantErr)
			}
			if err != nil {
				continue
			}
			if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(manifest.Manifest{})); diff != "" {
				t.Fatalf("%d: %s", n, diff)
			}
		}
	}
}

// Trackers of several units at once get each file from one memory.
func TestRememberedByManyAtOnce(t *testing.T) {
	t.Parallel()
	files := map[string]string{"m.cl": ""}
	for i := range 60 {
		files[fmt.Sprintf("h%d.h", i)] = fmt.Sprintf("#pragma once\n#include \"h%d.h\"\nint x%d;\n", (2*i+1)%60, i)
		files["m.cl"] += fmt.Sprintf("#include \"h%d.h\"\n", i)
	}
	dir := tree(t, files)
	sys, remembered := aged(), new(Memory)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			u := key.Unit{Kind: key.OpenCLC, Code: fmt.Appendf([]byte(files["m.cl"]), "int u%d;\n", i)}
			got, err := newTracker(sys, remembered, u, nil, Search{Dir: dir, Main: dir}).track()
			if err != nil || len(got.Unit.Files) != 60 {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	all.Wait()
}

// What a header file was asked for does not answer for what another unit asks: whether one
// gives its caller's path depends on the macros of the unit.
func TestRememberedAnswers(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a.h": "inline const char *f(const char *p = WHERE) { return p; }\n", "where.h": "#define WHERE __builtin_FILE()\n", "other.h": "#define OTHER __builtin_FILE()\n",
	})
	sys, remembered := aged(), new(Memory)
	for _, c := range []struct {
		header string
		want   manifest.Placing
	}{{"other.h", manifest.Unplaced}, {"where.h", manifest.Called}, {"other.h", manifest.Unplaced}} {
		u := key.Unit{Kind: key.CUDACpp, Code: []byte("#include \"" + c.header + "\"\n#include \"a.h\"\n")}
		got, err := newTracker(sys, remembered, u, nil, Search{Dir: dir, Main: dir}).track()
		if err != nil {
			t.Fatal(err)
		}
		if p := got.Manifest.Placing(); p != c.want {
			t.Errorf("%s: %v, want %v", c.header, p, c.want)
		}
	}
}
