//go:build linux

package compile_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/compile"
	"github.com/kernstash/kernstash/internal/timing"
)

var nvccLines = flag.Int("nvcc-lines", 0, "random command lines of nvcc; 0: 4, 40 with KERNSTASH_TEST_LONG, 100 where that is all")

// TestRandomCommandLinesOfNVCC: with any options, in any order, what is served is what nvcc makes.
func TestRandomCommandLinesOfNVCC(t *testing.T) {
	t.Parallel()
	tool, host := nvcc(t)
	arguments := map[string][]string{
		"--dependency-target-name": {"target"}, "--pre-include": {"a.h"}, "--define-macro": {"X=3", "Y"}, "--undefine-macro": {"Y"},
		"--include-path": {"early", "."}, "--system-include": {"early"}, "--optimize": {"0", "1", "3"}, "--dopt": {"on"}, "--x": {"cu"},
		"--std": {"c++14", "c++17", "c++20"}, "--machine": {"64"}, "--ftemplate-backtrace-limit": {"5"}, "--ftemplate-depth": {"500"},
		"--compiler-options": {"-fPIC", "-Wall,-O2"}, "--ptxas-options": {"-v", "--def-load-cache=cg"}, "--cudafe-options": {"--diag_suppress=177"},
		"--fatbin-options": {"-compress-all"}, "--threads": {"0", "2"}, "--split-compile": {"2"}, "--gpu-architecture": {"sm_80", "compute_80"},
		"--generate-code": {"arch=compute_80,code=sm_80", "arch=compute_90,code=[sm_90,compute_90]"}, "--gpu-code": {"sm_90"},
		"--relocatable-device-code": {"false"}, "--maxrregcount": {"32"}, "--ftz": {"true", "false"}, "--prec-div": {"false"}, "--prec-sqrt": {"false"},
		"--fmad": {"false"}, "--default-stream": {"legacy", "per-thread"}, "--Werror": {"reorder"}, "--diag-error": {"1"}, "--diag-suppress": {"177"},
		"--diag-warn": {"2"}, "--brief-diagnostics": {"true"}, "--jump-table-density": {"50"}, "--cudart": {"static"},
	}
	n := *nvccLines
	if n == 0 {
		n = timing.Cases(4, 40, 100)
	}
	seed := timing.Seed(t)
	for i := range n {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			pick := func(all []string) string { return all[random.IntN(len(all))] }
			words := [][]string{{pick([]string{"-c", "-ptx", "-cubin", "-fatbin"})}, {"k.cu"}, {"-o", "out"}, {"-Ilate"}, {host}}
			if random.IntN(2) == 0 {
				words = append(words, []string{pick([]string{"-MD", "-MMD"})}, []string{"-MF", "d"})
			}
			for range random.IntN(8) {
				if names := compile.NVCCOptions.Valued[random.IntN(len(compile.NVCCOptions.Valued))]; random.IntN(2) == 0 {
					if values := arguments[names[0]]; values != nil {
						name, value := pick(names), pick(values)
						words = append(words, [][]string{{name, value}, {name + "=" + value}}[random.IntN(2)])
					}
					continue
				}
				name := pick(compile.NVCCOptions.Flags[random.IntN(len(compile.NVCCOptions.Flags))])
				if !slices.Contains([]string{"-c", "--compile", "-ptx", "--ptx", "-cubin", "--cubin", "-fatbin", "--fatbin"}, name) {
					words = append(words, []string{name})
				}
			}
			random.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
			args := append([]string{tool}, slices.Concat(words...)...)
			p := newSource(t)
			got := func(run func(...string) ran) (r ran, out string) {
				r = run(args...)
				r.Messages = temporaryNames.ReplaceAllString(r.Messages, "tmpxft")
				for _, name := range []string{"out", "d"} {
					if b, err := os.ReadFile(filepath.Join(p.dir, name)); err == nil {
						out += string(b)
						os.Remove(filepath.Join(p.dir, name))
					}
				}
				return r, out
			}
			want, out := got(p.plain)
			for _, what := range []string{"miss", "hit"} {
				r, o := got(p.served)
				passed := strings.Contains(p.report(), "a dependency file, and 0 options") // nvcc runs each time
				if r != want || !alike(o, out, args) || what == "hit" && !passed && want.Status == 0 && o != out {
					t.Errorf("%s of %q: another output, or (-want +got):\n%s", what, args, cmp.Diff(want, r))
				}
				out = o
			}
			if _, found := p.counts(); found != 1 && want.Status == 0 && !strings.Contains(p.report(), "a dependency file, and 0 options") {
				t.Errorf("%q: %d found:\n%s", args, found, p.report())
			}
		})
	}
}

// FuzzReadNVCC: no command line is more than not served.
func FuzzReadNVCC(f *testing.F) {
	f.Add("-c\x00k.cu\x00-o\x00k.o\x00-Xcompiler=-fPIC,-O3")
	f.Add("-MD\x00-MF\x00d\x00-Xptxas\x00-O1\x00-ptx\x00-I=x")
	f.Fuzz(func(_ *testing.T, args string) {
		_ = compile.ReadNVCC(func(string) string { return "-DX" }, strings.Split(args, "\x00")...)
	})
}
