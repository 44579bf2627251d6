//go:build linux

package preload_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/timing"
)

// A library that lacks functions, and of which nobody knows what it compiles with, works
// as it did, and nothing is stored of it: so a newer one may use its own cache, and gets no option more.
func TestOldLibrary(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	for _, version := range [][]string{{"-DMAJOR=7", "-DMINOR=5"}, {"-DMAJOR=13", "-DMINOR=0"}} {
		s := newStage(t)
		flags := append([]string{"-shared", "-fPIC", "-D_GNU_SOURCE"}, version...)
		old := s.lib.CompileAlone(t, []string{"testdata/old.c"}, flags...)
		file := s.program("file")
		s.write("x.cu", "int x;\n")
		want := s.mustRun(false, nil, file, old, "x.cu", "-lineinfo")
		for range 2 {
			got := s.mustRun(true, nil, file, old, "x.cu", "-lineinfo")
			if diff := cmp.Diff(want.out, got.out); diff != "" {
				t.Errorf("%q (-without +with the cache): %s", version, diff)
			}
			if diff := cmp.Diff(one("compiled", 1), got.report); diff != "" {
				t.Errorf("%q (-want +got): %s", version, diff)
			}
		}
		if n := len(s.entries()); n != 0 {
			t.Errorf("%q: %d entries", version, n)
		}
	}
}

// What is to be kept is compiled without NVRTC's own cache, which it has from 12.9 on: the stand-in for 13.0 tells
// which options it got. test/gpu/newer has a real one.
func TestOwnCacheIsNotUsed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version, options, made []string
	}{
		{[]string{"12", "8"}, []string{"-lineinfo"}, []string{"-lineinfo"}},
		{[]string{"12", "9"}, []string{"-lineinfo"}, []string{"-lineinfo", "--no-cache"}},
		{[]string{"13", "0"}, nil, []string{"--no-cache"}},
		{[]string{"13", "0"}, []string{"-no-cache", "-w"}, []string{"-no-cache", "-w"}},
	} {
		s := newStage(t)
		version := []string{"-shared", "-fPIC", "-D_GNU_SOURCE", "-DMAJOR=" + c.version[0], "-DMINOR=" + c.version[1]}
		builtins := filepath.Join(t.TempDir(), "libnvrtc-builtins.so."+strings.Join(c.version, "."))
		library := filepath.Join(filepath.Dir(builtins), "libnvrtc.so."+c.version[0])
		link := func(from, to string) { // what the same flags made is another case's, too
			if err := os.Link(from, to); err != nil {
				t.Fatal(err)
			}
		}
		link(s.lib.CompileAlone(t, []string{"testdata/old.c"}, append(version, "-Wl,-soname,"+filepath.Base(builtins))...), builtins)
		link(s.lib.CompileAlone(t, []string{"testdata/old.c"}, append(version, "-Wl,-soname,"+filepath.Base(library), `-DBUILTINS="`+builtins+`"`)...), library)
		file := s.program("file")
		s.write("x.cu", "int x;\n")
		want := "int x;\n\n" + strings.Join(append(c.made, "0 bytes of machine code\n"), "\n")
		for _, outcome := range []string{"compiled", "disk"} {
			got := s.mustRun(true, nil, file, append([]string{library, "x.cu"}, c.options...)...)
			if diff := cmp.Diff(want, got.out); diff != "" {
				t.Errorf("%q, %q (-want +got): %s", c.version, c.options, diff)
			}
			if diff := cmp.Diff(one(outcome, 1), got.report); diff != "" {
				t.Errorf("%q, %q (-want +got): %s", c.version, c.options, diff)
			}
		}
		made := compiledInGo(t, library, rtc.Request{Source: []byte("int x;\n"), Name: "x.cu", Options: c.options})
		if diff := cmp.Diff("int x;\n\n"+strings.Join(c.made, "\n")+"\x00", made); diff != "" {
			t.Errorf("%q, %q, gpu/rtc (-want +got): %s", c.version, c.options, diff)
		}
	}
}

// compiledInGo returns the PTX that gpu/rtc makes with an empty cache.
func compiledInGo(t *testing.T, library string, r rtc.Request) string {
	t.Helper()
	l, err := rtc.Open(rtc.NVRTC, library)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := kernstash.Open(kernstash.Options{Dir: filepath.Join(t.TempDir(), "cache")})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	compiler := rtc.NewCompiler(cache, l, kernstash.ContextOptions{})
	defer compiler.Close()
	o, err := compiler.Compile(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return string(o.Answer(rtc.PTX).Data)
}
