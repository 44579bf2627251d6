//go:build linux && amd64

package preload_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/timing"
)

// The library itself, watched by sanitizers, with threads and on every odd way.
func TestSanitizers(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	s := newStage(t)
	for name, c := range s.sanitized() {
		observe, host := s.program("observe", c.flag), s.program("host", c.flag)
		want := s.mustRun(false, nil, s.program("observe"), "nvrtc", "odd", nvrtc)
		for range 2 {
			got := s.mustRun(false, c.env, observe, "nvrtc", "odd", nvrtc)
			if diff := cmp.Diff(want.out, got.out); diff != "" || !got.isClean() {
				t.Errorf("%s (-without +with the cache): %s\n%v\n%s", name, diff, got.report, tail(got.err))
			}
			if got = s.mustRun(false, c.env, host, "threads", nvrtc, "4"); !got.isClean() {
				t.Errorf("%s: %v\n%s", name, got.report, tail(got.err))
			}
		}
	}
}

// The same of programs that are given inputs one by one.
func TestSanitizersOfLinks(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	s, inputs := linkStage(t)
	s.write("k.ll", strings.ReplaceAll(moduleIR("f"), "declare float @f(float)", "define float @f(float %x) { ret float %x }"))
	linker, compiler := []string{"nvjitlink", nvJitLink(t)}, []string{"nvvm", toolkit(t, "lib64/libnvvm.so.4")}
	for name, c := range s.sanitized() {
		program := s.program("inputs", c.flag)
		for _, args := range [][]string{
			slices.Concat(linker, oneLink),
			slices.Concat(linker, []string{"threads 6"}, oneLink),
			append(linker, "create -arch=sm_80", "add 2 a.ptx a", "file 2 b.ptx", "ask", "complete", "ask", "size 1", "get 2", "destroy", "destroy"),
			append(linker, "create -arch=sm_80", "add 2 a.ptx a", "destroy", "create -arch=sm_80", "add 2 b.ptx a", "complete", "complete", "ask", "destroy"),
			append(linker, "create -arch=sm_80", "add 2 a.ptx a", "add 2 bad.ptx a", "complete", "ask", "destroy"),
			append(compiler, "create", "add 0 k.ll m", "lazy k.ll d", "verify", "complete -arch=compute_80", "ask", "complete -arch=compute_90", "ask", "destroy"),
			append(compiler, "threads 4", "create", "add 0 k.ll m", "complete -arch=compute_80", "ask", "destroy"),
		} {
			want := s.mustRun(false, nil, inputs, args...)
			for range 2 {
				got := s.mustRun(false, append(c.env, "KERNSTASH_DIR="+filepath.Join(s.dir, name)), program, args...)
				if diff := cmp.Diff(want.out, got.out); diff != "" || !got.isClean() {
					t.Errorf("%s: %q (-without +with the cache): %s\n%v\n%s", name, args[2:], diff, got.report, tail(got.err))
				}
			}
		}
	}
}

// sanitized is a build of the library with a sanitizer.
type sanitized struct {
	flag string   // of a program that is to use it
	env  []string // with it
}

// sanitized returns the builds by their names.
func (s *stage) sanitized() map[string]sanitized {
	s.t.Helper()
	out := s.t.TempDir()
	if err := cbuild.Shim("preload", "libkernstash_preload.so", out); err != nil {
		s.t.Fatal(err)
	}
	all := make(map[string]sanitized)
	for _, c := range []struct{ name, flag, runtime, options string }{
		{"asan", "-fsanitize=address,undefined", "libasan.so", "ASAN_OPTIONS=detect_leaks=0"},
		{"tsan", "-fsanitize=thread", "libtsan.so", "TSAN_OPTIONS=ignore_noninstrumented_modules=1"},
	} {
		b, err := exec.Command("gcc", "-print-file-name="+c.runtime).Output()
		if err != nil {
			s.t.Fatal(err)
		}
		all[c.name] = sanitized{c.flag, []string{
			"LD_PRELOAD=" + strings.TrimSpace(string(b)) + " " + filepath.Join(out, c.name, "libkernstash_preload.so"),
			"KERNSTASH_LIBRARY=" + s.lib.Library, c.options,
		}}
	}
	return all
}

// isClean reports whether a sanitizer found nothing in the library, which was asked for something.
func (o outcome) isClean() bool {
	return len(o.report) > 0 && !strings.Contains(o.err, "Sanitizer") && !strings.Contains(o.err, "runtime error")
}
