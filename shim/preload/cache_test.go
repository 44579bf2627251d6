//go:build linux

package preload_test

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/timing"
)

func one(kind string, n int) map[string]int { return map[string]int{kind: n} }

// Processes that start at once on one cold key compile once.
func TestProcessesAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	file := s.program("file")
	s.write("x.cu", "#define R(n) __global__ void r##n(float *p) { for (int i = 0; i < n; i++) p[i] = sqrtf(p[i]) * n; }\nR(1) R(2) R(3) R(4) R(5) R(6) R(7) R(8)\n")
	var all sync.WaitGroup
	var mu sync.Mutex
	total, outs := make(map[string]int), make(map[string]int)
	for range 8 {
		all.Go(func() {
			o := s.run(true, nil, file, nvrtc, "x.cu", "-arch=sm_90")
			mu.Lock()
			defer mu.Unlock()
			outs[o.out]++
			for kind, n := range o.report {
				total[kind] += n
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff(map[string]int{"compiled": 1, "disk": 7}, total); diff != "" || len(outs) != 1 {
		t.Errorf("(-want +got): %s%v", diff, outs)
	}
}

// Header files, as the core has them.
func TestHeaderFiles(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	file := s.program("file")
	s.write("x.cu", "#include <n.h>\nextern \"C\" __global__ void k(int *p) { *p = N; }\n")
	s.write("a/n.h", "#include \"m.h\"\n#define N M\n")
	s.write("a/m.h", "#define M 41\n")
	s.write("b/n.h", "#include \"m.h\"\n#define N M\n")
	s.write("b/m.h", "#define M 41\n")
	check := func(what, kind, number string, options ...string) {
		t.Helper()
		o := s.mustRun(true, nil, file, append([]string{nvrtc, "x.cu"}, options...)...)
		if diff := cmp.Diff(one(kind, 1), o.report); diff != "" || !strings.Contains(o.out, ", "+number+";") {
			t.Errorf("%s (-want +got): %s%s", what, diff, o.out)
		}
	}
	check("cold", "compiled", "41", "-Ifirst", "-Ia")
	check("warm", "disk", "41", "-Ifirst", "-Ia")
	check("another folder of the same content", "disk", "41", "-Ifirst", "-I", "b")
	check("an option more", "compiled", "41", "-Ifirst", "-Ia", "-DX")
	check("where paths matter", "compiled", "41", "-Ifirst", "-Ia", "-lineinfo")
	check("and another folder", "compiled", "41", "-Ifirst", "-Ib", "-lineinfo")
	s.write("a/m.h", "#define M 42\n")
	check("a header changed", "compiled", "42", "-Ifirst", "-Ia")
	s.write("first/m.h", "#define M 43\n")
	check("one that is not asked for there", "disk", "42", "-Ifirst", "-Ia")
	s.write("first/n.h", "#define N 44\n")
	check("one that goes before", "compiled", "44", "-Ifirst", "-Ia")
	s.write("n.h", "#define N 45\n")
	check("beside the source, where <n.h> is not looked for", "disk", "44", "-Ifirst", "-Ia")
	s.write("a/m.h", "#define M 42\n")
	check("touched", "disk", "44", "-Ifirst", "-Ia")
}

// A damaged entry is a miss, and is replaced.
func TestDamagedEntries(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	file := s.program("file")
	s.write("x.cu", "extern \"C\" __global__ void k(int *p) { *p = 1; }\n")
	want := s.mustRun(false, nil, file, nvrtc, "x.cu", "-arch=sm_80").out
	s.mustRun(true, nil, file, nvrtc, "x.cu", "-arch=sm_80")
	entries := s.entries()
	if len(entries) != 1 {
		t.Fatalf("%q", entries)
	}
	good, err := os.ReadFile(entries[0])
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte(nil), good...)
	flipped[len(flipped)-100] ^= 1
	for name, b := range map[string][]byte{
		"empty": nil, "cut": good[:len(good)/2], "flipped": flipped, "longer": append(append([]byte(nil), good...), 0), "something else": []byte("x"),
	} {
		if name != "cut" && name != "flipped" && !timing.IsLong() {
			continue
		}
		if err := os.Remove(entries[0]); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(entries[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"compiled", "disk"} {
			o := s.mustRun(true, nil, file, nvrtc, "x.cu", "-arch=sm_80")
			if diff := cmp.Diff(one(kind, 1), o.report); diff != "" || o.out != want {
				t.Errorf("%s (-want +got): %s", name, diff)
			}
		}
	}
}

// Threads that compile the same, and others, at once.
func TestThreads(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.mustRun(true, nil, s.program("host"), "threads", nvrtc, "8")
	if o.report["compiled"] != 3 || o.report["failed"] != 0 || o.report["passed"] != 0 {
		t.Errorf("%v, want 3 compiled", o.report)
	}
	o = s.mustRun(true, nil, s.program("host"), "threads", nvrtc, "8")
	if diff := cmp.Diff(one("disk", 160), o.report); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
}
