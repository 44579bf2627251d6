package rtc_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/timing"
)

// aloneVariable names the test that runs in a process in which nothing else compiles.
const aloneVariable = "KERNSTASH_TEST_ALONE"

// inOwnProcess runs the test in a process of its own, in which it returns false.
func inOwnProcess(t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneVariable) == t.Name() {
		return false
	}
	names := strings.Split(t.Name(), "/")
	for i, name := range names {
		names[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	cmd := exec.Command(os.Args[0], "-test.run="+strings.Join(names, "/"), "-test.v")
	cmd.Env = append(os.Environ(), aloneVariable+"="+t.Name(), "CUDA_CACHE_DISABLE=1") // from 12.9 on NVRTC has a cache of its own
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name()+" ")) && !bytes.Contains(out, []byte("--- SKIP: "+t.Name()+" ")) {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

// TestOptionsDoNotLast: but for --restrict a compile makes the same after one with another option in the same process:
// else what is kept of it would be another process's wrong binary.
func TestOptionsDoNotLast(t *testing.T) {
	t.Parallel()
	if inOwnProcess(t) {
		return
	}
	include := t.TempDir()
	write(t, filepath.Join(include, "all.h"), "#pragma once\ninline __device__ int twice(int i) { int unused; int s = 0; for (int j = 0; j < i; j++) s += j ^ 3; return s; }\n")
	const source = `#include "all.h"
extern "C" __global__ void k(float *p, int *q) { q[0] = twice(q[1]) + 3; p[0] = p[1] / p[2] * p[3] + p[4]; }
extern "C" __global__ void sum(const float *in, const double *weights, float *out, int n) { // what is only read, and may be written by another name
  float s = 0;
  for (int i = 0; i < n; i++) { s += in[i] * weights[i]; out[i] = s; }
}
template <class T> __global__ void copy(const T *in, T *out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = sin(in[i]); }
template __global__ void copy<float>(const float *, float *, int);
`
	var options []string
	for _, spellings := range nvrtcOptions {
		options = append(options, spellings...)
	}
	for _, p := range projects {
		options = append(options, strings.NewReplacer("-IINCLUDE", "", "-ITOOLKIT", "").Replace(p.opts))
	}
	options = append(options, "--restrict", "-restrict", "-G", "-G -lineinfo", "--ptxas-options=--verbose", "--pch", "-dlto", "--gen-opt-lto", "--minimal", "--split-compile=0",
		"--time="+filepath.Join(include, "times"), "--no-cache", "--brief-diagnostics=true", "--device-stack-protector=true", "-Xptxas -v", "--fdevice-syntax-only")
	probes := []string{"-arch=sm_80", "-arch=compute_80", "-arch=sm_80 -lineinfo"}
	if !timing.IsLong() {
		random := rand.New(rand.NewPCG(timing.Seed(t), 0))
		random.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
		options, probes = options[:10], probes[random.IntN(len(probes)):][:1]
	}
	for _, l := range nvrtcs(t) {
		major, minor := l.Version()
		for _, probe := range probes {
			make := func(more string) (*rtc.Output, error) {
				words := strings.ReplaceAll(probe+" "+more, "INCLUDE", include)
				return l.Compile(rtc.Request{Source: []byte(source), Name: "k.cu", Options: append(strings.Fields(words), "-I"+include)})
			}
			before, err := make("")
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range options {
				_, refused := make(o)
				after, err := make("")
				if err != nil {
					t.Fatalf("%d.%d, after %q: %v", major, minor, o, err)
				}
				if strings.Contains(o, "restrict") {
					before = after // see TestRestrictIsNotKept
				} else if !sameOutput(before, after) {
					t.Errorf("%d.%d, %q: another result after %q (refused: %t): %s", major, minor, probe, o, refused != nil, firstDifference(before, after))
					before = after
				}
			}
		}
	}
}

// TestDisabledWarningsLast: after a compile with -w, ptxas of 11.8 warns of nothing in the thread's next one. Its code is the same.
func TestDisabledWarningsLast(t *testing.T) {
	t.Parallel()
	if inOwnProcess(t) {
		return
	}
	runtime.LockOSThread()
	for _, l := range nvrtcs(t) {
		major, minor := l.Version()
		compile := func(more ...string) *rtc.Output {
			source := []byte("extern \"C\" __global__ void k(int *out) { out[0] = 1; }\n")
			out, err := l.Compile(rtc.Request{Source: source, Name: "k.cu", Options: append([]string{"-arch=sm_80"}, more...)})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		const warning = "ptxas warning"
		before := compile("--device-debug", "--generate-line-info")
		compile("-w")
		next, last := compile("--device-debug", "--generate-line-info"), compile("--device-debug", "--generate-line-info")
		if !sameCode(before, next) || !sameCode(before, last) || before.Log() != last.Log() {
			t.Errorf("%d.%d: another result after -w: %s; later: %s", major, minor, firstDifference(before, next), firstDifference(before, last))
		}
		if got, want := strings.Contains(next.Log(), warning), strings.Contains(before.Log(), warning) && major > 11; got != want {
			t.Errorf("%d.%d: ptxas warns right after -w: %t, want %t", major, minor, got, want)
		}
	}
}

// TestRestrictIsNotKept: NVRTC from 12.4 on goes on with --restrict. What it makes then without it is not kept, and what
// is there is found.
func TestRestrictIsNotKept(t *testing.T) {
	t.Parallel()
	if inOwnProcess(t) {
		return
	}
	const lasting = "goes on with --restrict"
	source := func(name string) []byte {
		return []byte("extern \"C\" __global__ void " + name + "(const float *in, float *out) { for (int i = 0; i < 9; i++) out[i] = in[i] + in[i + 1]; }\n")
	}
	for _, l := range nvrtcs(t) {
		major, minor := l.Version()
		dir := cacheDir(t)
		request := func(name string, options ...string) rtc.Request {
			return rtc.Request{Source: source(name), Name: "k.cu", Options: append([]string{"-arch=compute_80"}, options...)}
		}
		check := func(what string, r rtc.Request, want string) {
			t.Helper()
			if _, why := served(t, l, dir, r); why != want && (want != lasting || !strings.Contains(why, want)) {
				t.Errorf("%d.%d, %s: %q, want %q", major, minor, what, why, want)
			}
		}
		clean, err := l.Compile(request("k"))
		if err != nil {
			t.Fatal(err)
		}
		check("before", request("before"), miss)
		check("with it", request("k", "-restrict"), miss)
		check("with it, again", request("k", "-restrict"), "")
		check("before, again", request("before"), "")
		after, err := l.Compile(request("k"))
		if err != nil {
			t.Fatal(err)
		}
		lasts := !sameOutput(clean, after)
		if lasts != (major > 11) {
			t.Errorf("%d.%d: it lasts: %t; %s", major, minor, lasts, firstDifference(clean, after))
		}
		first, then := miss, ""
		if lasts {
			first, then = lasting, lasting
		}
		check("without it", request("k"), first)
		check("without it, again", request("k"), then)
	}
}

// TestOwnCacheOfNVRTC: from 12.9 on NVRTC has a cache of its own, which hands out what was made after --restrict in another
// process. What is kept is what a process makes that has no such cache.
func TestOwnCacheOfNVRTC(t *testing.T) {
	t.Parallel()
	const roleVariable = "KERNSTASH_TEST_ROLE"
	request := rtc.Request{Source: []byte("extern \"C\" __global__ void k(const float *a, float *b) { b[0] = a[0]; b[1] = a[0] + 2; }\n"), Name: "k.cu", Options: []string{"-arch=sm_80"}}
	if role := os.Getenv(roleVariable); role != "" {
		for _, l := range nvrtcs(t) {
			major, minor := l.Version()
			made, err := l.Compile(rtc.Request{Source: request.Source, Name: "k.cu", Options: slices.Concat(request.Options, map[string][]string{"restrict": {"--restrict"}}[role])})
			if err != nil {
				t.Fatal(err)
			}
			switch role {
			case "restrict": // and what comes after it
				made, err = l.Compile(request)
			case "keep", "find":
				made, _ = served(t, l, filepath.Join(os.Getenv("HOME"), fmt.Sprintf("%d.%d", major, minor)), request)
			}
			if err != nil {
				t.Fatal(err)
			}
			fmt.Printf("made %d.%d %x\n", major, minor, sha256.Sum256(slices.Concat(made.Answer(rtc.PTX).Data, made.Answer(rtc.CUBIN).Data)))
		}
		return
	}
	home := t.TempDir()
	play := func(role, disable string) (made string) {
		t.Helper()
		cmd := exec.Command(os.Args[0], "-test.run=^TestOwnCacheOfNVRTC$")
		cmd.Env = append(os.Environ(), roleVariable+"="+role, "HOME="+home, "CUDA_CACHE_PATH="+filepath.Join(home, "nv"), "CUDA_CACHE_DISABLE="+disable)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", role, err, out)
		}
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "made ") {
				made += line
			}
		}
		return made
	}
	clean := play("plain", "1")
	play("restrict", "0")
	t.Logf("NVRTC's own cache hands out what was made after --restrict: %t", play("plain", "0") != clean)
	for _, role := range []string{"keep", "find"} {
		if d := cmp.Diff(clean, play(role, "0")); d != "" || clean == "" {
			t.Errorf("%s (-what a process makes by itself +what it got):\n%s", role, d)
		}
	}
}

// firstDifference says where two outputs differ first.
func firstDifference(a, b *rtc.Output) string {
	if a.Log() != b.Log() {
		return fmt.Sprintf("log %q, %q", a.Log(), b.Log())
	}
	for f := range rtc.Forms() {
		x, y := a.Answer(f).Data, b.Answer(f).Data
		if bytes.Equal(x, y) {
			continue
		}
		at := 0
		for at < min(len(x), len(y)) && x[at] == y[at] {
			at++
		}
		around := func(b []byte) []byte { return b[min(len(b), max(0, at-60)):min(len(b), at+60)] }
		return fmt.Sprintf("form %v, %d and %d bytes, at %d: %q, %q", f, len(x), len(y), at, around(x), around(y))
	}
	return ""
}
