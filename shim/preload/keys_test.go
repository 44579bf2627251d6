//go:build linux

package preload_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/stats"
)

// The interposer and the Go package ask for the same thing by the same key.
func TestKeysAreThoseOfTheGoPackage(t *testing.T) {
	s := newStage(t)
	source := []byte("#include \"file.h\"\nextern \"C\" __global__ void k(int *p) { *p = N; }\n")
	s.write("x.cu", string(source))
	options := []string{"-arch=sm_80", "-I", "include", "-DX=3"}
	s.mustRun(true, nil, s.program("file"), append([]string{nvrtc, "x.cu"}, options...)...)
	if n := len(s.entries()); n != 1 {
		t.Fatalf("%d entries", n)
	}
	cache, err := kernstash.Open(kernstash.Options{Dir: filepath.Join(s.dir, "cache")})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	l, err := rtc.Open(rtc.NVRTC, nvrtc)
	if err != nil {
		t.Fatal(err)
	}
	c := rtc.NewCompiler(cache, l, kernstash.ContextOptions{})
	defer c.Close()
	t.Chdir(s.work)
	if _, err := c.Compile(context.Background(), rtc.Request{Source: source, Name: "x.cu", Options: options}); err != nil {
		t.Fatal(err)
	}
	if n := cache.Stats().Get(stats.DiskHits); n != 1 {
		t.Errorf("%d hits of what the interposer stored", n)
	}
}

// A Go program that uses package rtc may run under the interposer: only one of the two
// asks the cache, or the process would wait for itself.
func TestFrontEndsStacked(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"builds", "hits"} {
		o := s.mustRun(true, []string{"KERNSTASH_TEST_STACKED=" + kind}, self, "-test.run=^TestStackedHelper$")
		if len(o.report) != 0 {
			t.Errorf("%s: the interposer was asked: %v", kind, o.report)
		}
	}
}

func TestStackedHelper(t *testing.T) {
	kind := os.Getenv("KERNSTASH_TEST_STACKED")
	if kind == "" {
		return
	}
	cache, err := kernstash.Open(kernstash.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := rtc.Open(rtc.NVRTC, nvrtc)
	if err != nil {
		t.Fatal(err)
	}
	c := rtc.NewCompiler(cache, l, kernstash.ContextOptions{})
	if _, err := c.Compile(context.Background(), rtc.Request{Source: []byte("extern \"C\" __global__ void k() {}\n")}); err != nil {
		t.Fatal(err)
	}
	if builds := cache.Stats().Get(stats.Builds); (builds == 1) != (kind == "builds") {
		t.Errorf("%d builds", builds)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := cache.Close(); err != nil {
		t.Error(err)
	}
}
