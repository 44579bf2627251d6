package rtc_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/stats"
)

var optionLines = flag.Int("lines", 0, "random lists of options for each NVRTC; 0: 6, 40 with KERNSTASH_TEST_LONG, 75 where that is all")

// nvrtcOptions are options of NVRTC that a list is made of, each in its spellings. Not here: --restrict, which lasts.
var nvrtcOptions = [][]string{
	{"--std=c++14", "-std=c++17", "--std c++17"},
	{"-arch=sm_80", "--gpu-architecture=compute_80", "-arch compute_75", "--gpu-architecture sm_86"},
	{"-IINCLUDE", "--include-path=INCLUDE", "-I INCLUDE", "-IOTHER"},
	{"-DN=2", "--define-macro=N=3", "-D N=2", "-DN", "-UN", "-DLIKE=4"},
	{"-default-device", "--device-as-default-execution-space"},
	{"--ftz=true", "-ftz=false", "--use_fast_math", "-use_fast_math"},
	{"--fmad=false", "-fmad=true", "--prec-div=false", "-prec-sqrt=true"},
	{"-lineinfo", "--generate-line-info"}, // not -G: calls are numbered in debug information
	{"--maxrregcount=32", "-maxrregcount 64"},
	{"-dc", "-rdc=true", "--relocatable-device-code=false"},
	{"-ewp", "--extensible-whole-program", "--extra-device-vectorization", "--disable-warnings", "-w"},
	{"--ptxas-options=-v", "--ptxas-options -O1", "-Xptxas --def-load-cache=cg"},
	{"--diag-suppress=177", "--diag-warn=177", "-diag-error=177", "--display-error-number", "-no-err-no"},
	{"-dopt=on", "--dopt on", "--builtin-move-forward=false", "--modify-stack-limit=false", "--pre-include=all.h", "-include=all.h"},
	{"--bogus", "-arch=sm_1", "--std=c++99", "-D", "x"},
}

// TestRandomOptionsOfNVRTC: with any options, in any order, what is served is what NVRTC makes, and what it refuses is
// refused alike. All lists share a cache, so what one has kept must not be taken for another's.
func TestRandomOptionsOfNVRTC(t *testing.T) {
	t.Parallel()
	n, from := *optionLines, timing.Seed(t)
	if n == 0 {
		n = timing.Cases(6, 40, 75)
	}
	include, other := t.TempDir(), t.TempDir()
	const header = "#pragma once\n#ifndef LIKE\n#define LIKE %d\n#endif\ninline __device__ int twice(int i) { int unused; int s = 0; for (int j = 0; j < i; j++) s += j ^ LIKE; return s; }\n"
	write(t, filepath.Join(include, "all.h"), fmt.Sprintf(header, 3))
	write(t, filepath.Join(other, "all.h"), fmt.Sprintf(header, 5))
	const source = "#include \"all.h\"\n#ifndef N\n#define N 1\n#endif\nextern \"C\" __global__ void k(float *p, int *q) { q[0] = twice(q[1]) + N + 0; p[0] = p[1] / p[2] * p[3] + p[4]; }\n"
	for _, l := range nvrtcs(t) {
		major, minor := l.Version()
		t.Run(fmt.Sprintf("%d.%d", major, minor), func(t *testing.T) {
			t.Parallel()
			random, dir := rand.New(rand.NewPCG(from, uint64(major))), cacheDir(t)
			made, found := 0, 0
			for range n {
				var words []string
				for range 1 + random.IntN(5) {
					spellings := nvrtcOptions[random.IntN(len(nvrtcOptions)-1)]
					if random.IntN(20) == 0 {
						spellings = nvrtcOptions[len(nvrtcOptions)-1]
					}
					words = append(words, spellings[random.IntN(len(spellings))])
				}
				if random.IntN(4) > 0 { // else the header may not be found
					words = append(words, "-IINCLUDE")
				}
				random.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
				r := rtc.Request{Source: []byte(source), Name: "random.cu"}
				r.Options = strings.Fields(strings.NewReplacer("INCLUDE", include, "OTHER", other).Replace(strings.Join(words, " ")))
				want, wantErr := l.Compile(r)
				for i, what := range []string{"the first process", "the second"} {
					c, cache := compiler(t, l, dir)
					got, err := c.Compile(t.Context(), r)
					switch {
					case (err == nil) != (wantErr == nil):
						t.Fatalf("%s, %q: %v, want %v", what, words, err, wantErr)
					case err != nil && logOf(err) != logOf(wantErr):
						t.Errorf("%s, %q: log %q, want %q", what, words, logOf(err), logOf(wantErr))
					case err == nil && !sameOutput(got, want):
						t.Errorf("%s, %q: not what the compiler makes:\n%s\n%s", what, words, got.Log(), want.Log())
					}
					if !cache.Flush(3 * time.Minute) {
						t.Fatal("not stored")
					}
					if i == 1 && cache.Stats().Get(stats.DiskHits) == 1 {
						found++
					}
					cache.Close()
				}
				if wantErr == nil {
					made++
				}
			}
			t.Logf("%d of %d are compiled, %d of these found again", made, n, found)
			if made >= 20 && found < made*2/3 { // of a few all may have options with which nothing is kept
				t.Errorf("%d found again of %d that are compiled", found, made)
			}
		})
	}
}

// logOf returns what a compiler says of what it refuses, and the error where it says nothing.
func logOf(err error) string {
	if refused := new(kernstash.BuildError); errors.As(err, &refused) {
		return refused.Log
	}
	return err.Error()
}
