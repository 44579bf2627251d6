//go:build !nogpu && linux

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/stats"
)

// TestBuiltIsFound: what build made is what an application finds that asks for the same.
func TestBuiltIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, file := filepath.Join(dir, "stash"), filepath.Join(dir, "times.cu")
	const source = "template <class T> __global__ void times(T *x) { x[threadIdx.x] *= N; }\n"
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	if status := run([]string{
		"build", "--dir", root, "-D", "N=2", "--arch", "compute_80", "--options", "--std=c++17 -DTEXT='\"a b\"'",
		"--name-expression", "times<float>", "--program-name", "app.cu", file,
	}, strings.NewReader(""), io.Discard, &log); status != 0 {
		t.Fatalf("status %d: %s", status, log.String())
	}

	cache, err := kernstash.Open(kernstash.Options{Dir: root})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	l, err := rtc.Open(rtc.NVRTC, "")
	if err != nil {
		t.Fatal(err)
	}
	c := rtc.NewCompiler(cache, l, kernstash.ContextOptions{})
	defer c.Close()
	o, err := c.Compile(t.Context(), rtc.Request{
		Source: []byte(source), Name: "app.cu", Expressions: []string{"times<float>"},
		Options: []string{"-DN=2", "--gpu-architecture=compute_80", "--std=c++17", `-DTEXT="a b"`},
	})
	if err != nil {
		t.Fatal(err)
	}
	if name, ok := o.Lowered("times<float>"); !ok || name != "_Z5timesIfEvPT_" {
		t.Errorf("lowered to %q", name)
	}
	if s := cache.Stats(); s[stats.DiskHits] != 1 || s[stats.Builds] != 0 {
		t.Errorf("%d hits, %d compiles", s[stats.DiskHits], s[stats.Builds])
	}
}
