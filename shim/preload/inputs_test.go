//go:build linux && amd64

package preload_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/internal/timing"
)

// toolkit returns the path of a file of NVIDIA's toolkit.
func toolkit(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(needs.CUDA(t), name)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func nvJitLink(t *testing.T) string { return toolkit(t, "lib64/libnvJitLink.so.12") }

// kernelPTX returns PTX of a kernel that stores a number; more goes in front.
func kernelPTX(name string, number int, more string) string {
	return fmt.Sprintf(".version 8.4\n.target sm_80\n.address_size 64\n%s\n.visible .entry %s(.param .u64 p)\n{\n\t.reg .b64 %%a<3>;\n"+
		"\t.reg .b32 %%r<2>;\n\tld.param.u64 %%a1, [p];\n\tcvta.to.global.u64 %%a2, %%a1;\n\tmov.u32 %%r1, %d;\n"+
		"\tst.global.u32 [%%a2], %%r1;\n\tret;\n}\n", more, name, number)
}

// linkStage is a stage with PTX, and programs that call nvJitLink and libnvvm.
func linkStage(t *testing.T) (s *stage, inputs string) {
	t.Helper()
	s = newStage(t)
	s.write("a.ptx", kernelPTX("a", 1, ""))
	s.write("b.ptx", kernelPTX("b", 2, ""))
	s.write("dup.ptx", kernelPTX("a", 3, ""))
	s.write("bad.ptx", kernelPTX("a", 3, "bogus"))
	return s, s.program("inputs")
}

// same runs calls without and with the cache, and returns what the cache reports.
func (s *stage) same(env []string, inputs, kind, library string, calls ...string) map[string]int {
	s.t.Helper()
	args := append([]string{kind, library}, calls...)
	want := s.mustRun(false, env, inputs, args...)
	got := s.mustRun(true, env, inputs, args...)
	if diff := cmp.Diff(want.out, got.out); diff != "" {
		s.t.Errorf("%q, answers with the cache (-without +with):\n%s", calls, diff)
	}
	if want.err != got.err {
		s.t.Errorf("%q: standard error %q, without the cache %q", calls, got.err, want.err)
	}
	return got.report
}

func (s *stage) wantReport(what string, got map[string]int, want map[string]int) {
	s.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("%s: reported (-want +got):\n%s", what, diff)
	}
}

var oneLink = []string{"create -arch=sm_80 -Xptxas=-v", "add 2 a.ptx a", "ask", "add 2 b.ptx", "complete", "ask", "destroy"}

// counting builds a library that counts the calls of nvJitLink that compile, named as wheels name theirs, and
// returns its path.
func (s *stage) counting(real string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, "libnvJitLink-0369e686.so.12.4.127")
	out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-Wl,-soname,libnvJitLink-0369e686.so.12.4.127",
		"-DREAL=\""+real+"\"", "-o", path, "testdata/counting.c", "-ldl").CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	return path
}

// A second process gets what nvJitLink made in the first, logs and all, and nvJitLink compiles nothing: neither when PTX
// is added nor at the end. So under each of its functions' names, in a library that a wheel has renamed.
func TestLinksAreKept(t *testing.T) {
	t.Parallel()
	s, inputs := linkStage(t)
	library := s.counting(nvJitLink(t))
	for _, version := range []string{"", "_12_0", "_12_4"} {
		args := append([]string{"nvjitlink", library}, oneLink...)
		if version != "" {
			args = slices.Insert(args, 2, version)
		}
		plain := s.mustRun(false, nil, inputs, args...)
		if want := "added 2, completed 1\n"; plain.err != want {
			t.Fatalf("without the cache: %q, want %q", plain.err, want)
		}
		first := s.mustRun(true, nil, inputs, args...)
		if version == "" {
			s.wantReport("cold", first.report, map[string]int{"compiled": 3})
		}
		second := s.mustRun(true, nil, inputs, args...)
		s.wantReport("warm", second.report, map[string]int{"disk": 3})
		if want := "added 0, completed 0\n"; second.err != want {
			t.Errorf("warm: %q, want %q", second.err, want)
		}
		for what, o := range map[string]outcome{"cold": first, "warm": second} {
			if diff := cmp.Diff(plain.out, o.out); diff != "" {
				t.Errorf("%s (-without +with):\n%s", what, diff)
			}
		}
	}
}

// What decides what is linked is in the key, and nothing else is.
func TestLinksThatDiffer(t *testing.T) {
	t.Parallel()
	s, inputs := linkStage(t)
	library := nvJitLink(t)
	s.write("named.cu", "first\n")
	s.write("f.ptx", strings.Replace(kernelPTX("a", 1, "")+".file 1 \"named.cu\"\n", "\tret;", "\t.loc 1 1 1\n\tret;", 1))
	s.mustRun(true, nil, inputs, append([]string{"nvjitlink", library}, oneLink...)...)
	change := func(from, to string) []string {
		calls := slices.Clone(oneLink)
		for i := range calls {
			calls[i] = strings.Replace(calls[i], from, to, 1)
		}
		return calls
	}
	all, none := map[string]int{"disk": 3}, map[string]int{"compiled": 3}
	for _, c := range []struct {
		what  string
		calls []string
		want  map[string]int
	}{
		{"the same", oneLink, all},
		{"other options", change("-Xptxas=-v", "-Xptxas=-O1"), none},
		{"an option more", change("-Xptxas=-v", "-Xptxas=-v -maxrregcount=32"), none},
		{"in another order", change("-Xptxas=-v", "-maxrregcount=32 -Xptxas=-v"), none},
		{"another name", change("a.ptx a", "a.ptx c"), none},
		{"another second input", change("b.ptx", "dup.ptx"), map[string]int{"disk": 1, "passed": 3}},
		{"the other order", []string{oneLink[0], oneLink[3], oneLink[1], "complete", "ask"}, none},
		{"one alone", []string{oneLink[0], oneLink[1], "complete", "ask"}, map[string]int{"disk": 1, "compiled": 1, "passed": 1}},
		{"that again", []string{oneLink[0], oneLink[1], "complete", "ask"}, map[string]int{"disk": 2}},
		{"a variable", oneLink, none},
	} {
		var env []string
		if c.what == "a variable" {
			env = []string{"NVVM_IR_VER_CHK=0"}
		}
		s.wantReport(c.what, s.same(env, inputs, "nvjitlink", library, c.calls...), c.want)
	}

	// ptxas, which nvJitLink has in it, looks at the files that .file names.
	files := []string{"create -arch=sm_80", "add 2 f.ptx f", "complete", "ask"}
	s.wantReport("a named file", s.same(nil, inputs, "nvjitlink", library, files...), map[string]int{"compiled": 2})
	s.wantReport("again", s.same(nil, inputs, "nvjitlink", library, files...), map[string]int{"disk": 2})
	if err := os.Chtimes(filepath.Join(s.work, "named.cu"), time.Now(), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	s.wantReport("touched", s.same(nil, inputs, "nvjitlink", library, files...), map[string]int{"compiled": 2})
	if err := os.Remove(filepath.Join(s.work, "named.cu")); err != nil {
		t.Fatal(err)
	}
	s.wantReport("removed", s.same(nil, inputs, "nvjitlink", library, files...), map[string]int{"compiled": 2})
}

// A file that PTX names is looked at when the PTX is added: one that changes before the link is not in its key as it was.
func TestLinksOfFilesThatChange(t *testing.T) {
	t.Parallel()
	s, inputs := linkStage(t)
	s.write("named.cu", "first\n")
	s.write("f.ptx", strings.Replace(kernelPTX("a", 1, "")+".file 1 \"named.cu\"\n", "\tret;", "\t.loc 1 1 1\n\tret;", 1))
	run := func(with bool, calls ...string) outcome {
		if err := os.Chtimes(filepath.Join(s.work, "named.cu"), time.Time{}, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // what was changed a moment ago may change again
		return s.mustRun(with, nil, inputs, append([]string{"nvjitlink", nvJitLink(t)}, calls...)...)
	}
	calls := []string{"create -arch=sm_80", "add 2 f.ptx f", "touch named.cu", "complete", "ask"}
	want := run(false, calls...)
	for i := range 2 {
		got := run(true, calls...)
		// What was found of the first step is compiled after all in the second, with the file as it is then.
		if diff := cmp.Diff(want.out, got.out); diff != "" && i == 0 {
			t.Errorf("(-without +with):\n%s", diff)
		}
		if got.report["compiled"]+got.report["disk"] != 1 || got.report["passed"] == 0 {
			t.Errorf("of a file that changes: %v, want the link to be passed by", got.report)
		}
	}
	// It is as it was left.
	s.wantReport("as it is", s.same(nil, inputs, "nvjitlink", nvJitLink(t), calls[0], calls[1], calls[3], calls[4]), map[string]int{"compiled": 2})
}

// What an application does otherwise than most is answered as nvJitLink answers. No input is added behind the link here
// and in the random calls: 12.4 writes to memory then that it has freed.
func TestLinkersAnswers(t *testing.T) {
	t.Parallel()
	s, inputs := linkStage(t)
	library := nvJitLink(t)
	for _, calls := range [][]string{
		{"create -arch=sm_80", "add 2 bad.ptx bad", "ask", "complete", "ask", "destroy"},
		{"create -arch=sm_80", "add 2 a.ptx a", "add 2 bad.ptx bad", "ask", "add 2 b.ptx b", "complete", "ask", "destroy"},
		{"create -arch=sm_80", "add 2 a.ptx a", "add 2 dup.ptx a", "complete", "ask", "destroy", "destroy"},
		{"create -arch=sm_80", "add 2 a.ptx a", "destroy", "create -arch=sm_80", "add 2 b.ptx b", "complete", "ask"},
		{"create -arch=sm_80", "add 2 a.ptx a", "complete", "complete", "ask", "complete", "ask"},
		{"create -arch=sm_80", "complete", "ask"},
		{"create -arch=sm_80", "add 1 a.ptx a", "ask", "add 99 a.ptx a", "add 2 /dev/null a", "complete", "ask"},
		{"create -arch=sm_80", "add 10 a.ptx a", "complete", "ask"},
		{"create -arch=sm_80", "file 2 a.ptx", "file 10 b.ptx", "complete", "ask"},
		{"create -arch=sm_80", "file 2 absent.ptx", "ask", "complete", "ask"},
		{"create -arch=sm_80 -Xptxas=-bogus", "add 2 a.ptx a", "ask", "complete", "ask"},
		{"add 2 a.ptx a", "complete", "ask", "destroy"},
		{"create -arch=sm_80", "again", "create -arch=sm_90", "add 2 a.ptx a", "get 2", "complete", "get 2", "get 2", "size 3", "get 3", "get 2"},
		{"create -arch=sm_80 -lto", "add 2 a.ptx a", "complete", "ask"},
	} {
		for range 3 { // cold, warm, and warm where something was not
			s.same(nil, inputs, "nvjitlink", library, calls...)
		}
	}
	o := s.run(true, nil, inputs, "nvjitlink", library, "create -arch=sm_80 -verbose", "add 2 a.ptx a", "complete", "ask")
	s.wantReport("-verbose, with which it writes to standard error", o.report, map[string]int{"passed": 2})
	o = s.run(true, []string{"NVJITLINK_TRACE_MESSAGES=1"}, inputs, append([]string{"nvjitlink", library}, oneLink...)...)
	s.wantReport("a variable with which it writes more", o.report, map[string]int{"passed": 3})
}

// What is asked of the cache, and stored, of a link is not many times its inputs: from some input on nvJitLink goes on alone.
func TestLargeLinks(t *testing.T) {
	t.Parallel()
	s, inputs := linkStage(t)
	calls := []string{"create -arch=sm_80"}
	for i := range 8 {
		name := string(rune('c' + i))
		s.write(name+".ptx", kernelPTX(name, i, "")+strings.Repeat("// 64 bytes of a comment ....................................\n", 8<<20/64))
		calls = append(calls, fmt.Sprintf("%s 2 %s.ptx", []string{"add", "file"}[i%2], name))
	}
	calls = append(calls, "complete", "ask", "destroy")
	// 8 + 16 + 24 + 32 + 40 MiB; with 48 more it would be more than 128.
	s.wantReport("cold", s.same(nil, inputs, "nvjitlink", nvJitLink(t), calls...), map[string]int{"compiled": 5, "passed": 2})
	s.wantReport("warm", s.same(nil, inputs, "nvjitlink", nvJitLink(t), calls...), map[string]int{"disk": 5, "passed": 3})
}

// commaNumeric is LC_NUMERIC of a locale whose decimal point is a comma, as localedef writes it.
const commaNumeric = "\x14\x11\x03\x20\x06\x00\x00\x00\x20\x00\x00\x00\x22\x00\x00\x00\x23\x00\x00\x00\x24\x00\x00\x00\x28\x00\x00\x00\x2c\x00\x00\x00" +
	"\x2c\x00\x00\x00\x2c\x00\x00\x00\x00\x00\x00\x00ANSI_X3.4-1968\x00"

// nvJitLink reads the numbers of PTX as the process's locale writes them: what it makes of 1.5 where that is a 1 and a
// rest is for nobody else.
func TestLinksInLocales(t *testing.T) {
	t.Parallel()
	s, inputs := linkStage(t)
	s.write("locales/comma/LC_NUMERIC", commaNumeric)
	s.write("a.ptx", strings.NewReplacer(".b32 %r<2>", ".f32 %r<2>", "mov.u32 %r1, 1", "mov.f32 %r1, 1.5", "global.u32", "global.f32").Replace(kernelPTX("a", 1, "")))
	env := []string{"LOCPATH=" + filepath.Join(s.work, "locales")}
	c, comma := oneLink, append([]string{"locale comma"}, oneLink...)
	plain := func(calls []string) string {
		return s.mustRun(false, env, inputs, append([]string{"nvjitlink", nvJitLink(t)}, calls...)...).out
	}
	said, is := strings.CutPrefix(plain(comma), "locale comma: 0, no program\n")
	if !is || said == plain(c) {
		t.Fatalf("there is no such locale, or nvJitLink makes the same in it:\n%s", said)
	}
	s.wantReport("a comma, cold", s.same(env, inputs, "nvjitlink", nvJitLink(t), comma...), map[string]int{"passed": 2})
	s.wantReport("cold", s.same(env, inputs, "nvjitlink", nvJitLink(t), c...), map[string]int{"compiled": 3})
	s.wantReport("a comma, warm", s.same(env, inputs, "nvjitlink", nvJitLink(t), comma...), map[string]int{"passed": 2})
	// What was served is compiled after all as it would have been then.
	late := []string{"create -arch=sm_80", "add 2 a.ptx a", "locale comma", "add 2 b.ptx", "complete", "ask"}
	want := plain(late)
	s.mustRun(true, env, inputs, "nvjitlink", nvJitLink(t), "create -arch=sm_80", "add 2 a.ptx a")
	got := s.mustRun(true, env, inputs, append([]string{"nvjitlink", nvJitLink(t)}, late...)...).out
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("compiled after all (-without +with):\n%s", diff)
	}
}

// Threads that link the same at once.
func TestLinkingThreads(t *testing.T) {
	t.Parallel()
	s, inputs := linkStage(t)
	for _, want := range []map[string]int{{"compiled": 3, "memory": 21}, {"disk": 24}} {
		report := s.same(nil, inputs, "nvjitlink", nvJitLink(t), append([]string{"threads 8"}, oneLink...)...)
		// Who was served the first input may have to compile what follows: that is passed, too.
		n := report["compiled"] + report["memory"] + report["disk"]
		if n != 24 || report["compiled"] != want["compiled"] {
			t.Errorf("%v, want %v or the like", report, want)
		}
	}
}

// A damaged entry is a miss, and is replaced.
func TestDamagedLinks(t *testing.T) {
	t.Parallel()
	s, inputs := linkStage(t)
	s.same(nil, inputs, "nvjitlink", nvJitLink(t), oneLink...)
	for _, entry := range s.entries() {
		b, err := os.ReadFile(entry)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)-20] ^= 1
		if err := os.WriteFile(entry, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.wantReport("damaged", s.same(nil, inputs, "nvjitlink", nvJitLink(t), oneLink...), map[string]int{"compiled": 3})
	s.wantReport("replaced", s.same(nil, inputs, "nvjitlink", nvJitLink(t), oneLink...), map[string]int{"disk": 3})
}

// What nvcc makes with -dlto is linked, and so are objects and machine code; what the library may look at beside them
// is not known where there is line information.
func TestLinksOfOtherInputs(t *testing.T) {
	t.Parallel()
	s, inputs := linkStage(t)
	nvcc := toolkit(t, "bin/nvcc")
	s.write("k.cu", "extern \"C\" __device__ int f(int);\nextern \"C\" __global__ void k(int *p) { *p = f(*p); }\n")
	s.write("f.cu", "extern \"C\" __device__ int f(int n) { return n + 1; }\n")
	for name, flags := range map[string][]string{
		"k.fatbin": {"-arch=lto_80", "-fatbin", "-dc", "k.cu"}, "f.fatbin": {"-arch=lto_80", "-fatbin", "-dc", "f.cu"},
		"lines.fatbin": {"-arch=lto_80", "-fatbin", "-dc", "-lineinfo", "f.cu"},
		"k.cubin":      {"-arch=sm_80", "-cubin", "-dc", "k.cu"}, "f.o": {"-arch=sm_80", "-dc", "f.cu"},
	} {
		cmd := exec.Command(nvcc, append(flags, "-ccbin", needs.Tool(t, "g++-12", "g++-12"), "-o", name)...)
		cmd.Dir = s.work
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, c := range []struct {
		what       string
		calls      []string
		cold, warm map[string]int
	}{
		{
			"LTO IR",
			[]string{"create -arch=sm_80 -lto", "add 4 k.fatbin k", "add 4 f.fatbin f", "complete", "ask"},
			map[string]int{"compiled": 3},
			map[string]int{"disk": 3},
		},
		{
			"to PTX",
			[]string{"create -arch=sm_80 -lto -ptx", "file 4 k.fatbin", "add 4 f.fatbin f", "complete", "ask"},
			map[string]int{"compiled": 3},
			map[string]int{"disk": 3},
		},
		{
			"machine code and an object",
			[]string{"create -arch=sm_80", "add 1 k.cubin k", "file 5 f.o", "complete", "ask"},
			map[string]int{"compiled": 2},
			map[string]int{"disk": 2},
		},
		{
			"with line information",
			[]string{"create -arch=sm_80 -lto", "add 4 k.fatbin k", "add 4 lines.fatbin f", "complete", "ask"},
			map[string]int{"compiled": 2, "disk": 1, "passed": 1},
			map[string]int{"compiled": 1, "disk": 2, "passed": 1},
		},
	} {
		s.wantReport(c.what, s.same(nil, inputs, "nvjitlink", nvJitLink(t), c.calls...), c.cold)
		s.wantReport(c.what+", again", s.same(nil, inputs, "nvjitlink", nvJitLink(t), c.calls...), c.warm)
	}
}

var linkRounds = flag.Int("links", 0, "random sequences of calls of nvJitLink, and of libnvvm; 0: 12, 50 with KERNSTASH_TEST_LONG, 150 where that is all")

// Random calls are answered as the library answers them, whatever is in the cache.
func TestRandomLinks(t *testing.T) {
	t.Parallel()
	s, inputs := linkStage(t)
	s.write("empty.ptx", "")
	r := rand.New(rand.NewPCG(timing.Seed(t), 1))
	options := []string{"-Xptxas=-v", "-lto", "-maxrregcount=32", "-O3", "-lineinfo", "-verbose", "-ftz=1", "-optimize-unused-variables"}
	rounds := *linkRounds
	if rounds == 0 {
		rounds = timing.Cases(12, 50, 150)
	}
	for range rounds {
		calls := []string{"create -arch=sm_80"}
		for range r.IntN(3) {
			calls[0] += " " + options[r.IntN(len(options))]
		}
		for range 2 + r.IntN(7) {
			if slices.Contains(calls, "complete") {
				calls = append(calls, []string{"complete", "ask", "size 2", "get 0"}[r.IntN(4)])
				continue
			}
			file := []string{"a.ptx", "b.ptx", "dup.ptx", "bad.ptx", "empty.ptx"}[min(r.IntN(9), 4)%5]
			switch r.IntN(9) {
			case 0, 1, 2:
				calls = append(calls, fmt.Sprintf("add 2 %s %s", file, file[:1]))
			case 3:
				calls = append(calls, fmt.Sprintf("add %d %s", r.IntN(11), file))
			case 4:
				calls = append(calls, fmt.Sprintf("file %d %s", []int{2, 10, 1}[r.IntN(3)], file))
			case 5:
				calls = append(calls, "complete")
			case 6:
				calls = append(calls, "ask")
			case 7:
				calls = append(calls, fmt.Sprintf("size %d", r.IntN(4)))
			case 8:
				calls = append(calls, fmt.Sprintf("get %d", r.IntN(2)))
			}
		}
		calls = append(calls, "complete", "ask", "destroy")
		for range 2 {
			s.same(nil, inputs, "nvjitlink", nvJitLink(t), calls...)
		}
	}
	s.write("k.ll", strings.ReplaceAll(moduleIR("f"), "declare float @f(float)", "define float @f(float %x) { ret float %x }"))
	s.write("bad.ll", "no IR")
	for range rounds {
		calls := []string{"create"}
		for range 1 + r.IntN(7) {
			calls = append(calls, []string{
				"add 0 k.ll m", "add 0 k.ll", "add 0 bad.ll b", "lazy " + toolkit(t, "nvvm/libdevice/libdevice.10.bc") + " d",
				"verify", "verify -arch=compute_80", "complete", "complete -arch=compute_80", "complete -arch=compute_80 -g", "complete -x", "ask", "size 1",
			}[r.IntN(12)])
		}
		calls = append(calls, "complete -arch=compute_90", "ask", "destroy")
		for range 2 {
			s.same(nil, inputs, "nvvm", toolkit(t, "lib64/libnvvm.so.4"), calls...)
		}
	}
}

// moduleIR returns NVVM IR of a kernel that calls a function of libdevice.
func moduleIR(function string) string {
	return "target datalayout = \"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64\"\n" +
		"target triple = \"nvptx64-nvidia-cuda\"\n\ndeclare float @" + function + "(float)\n\n" +
		"define void @k(float* %p) {\n  %v = load float, float* %p\n  %w = call float @" + function + "(float %v)\n" +
		"  store float %w, float* %p\n  ret void\n}\n\n!nvvm.annotations = !{!0}\n!0 = !{void (float*)* @k, !\"kernel\", i32 1}\n" +
		"!nvvmir.version = !{!1}\n!1 = !{i32 2, i32 0}\n"
}

// libnvvm compiles once what numba and others compile in each process.
func TestNVVMIsKept(t *testing.T) {
	t.Parallel()
	s, inputs := linkStage(t)
	library, libdevice := toolkit(t, "lib64/libnvvm.so.4"), toolkit(t, "nvvm/libdevice/libdevice.10.bc")
	s.write("sin.ll", moduleIR("__nv_sinf"))
	s.write("cos.ll", moduleIR("__nv_cosf"))
	s.write("bad.ll", "no IR")
	lazy := "lazy " + libdevice + " libdevice"
	common := []string{"create", "add 0 sin.ll m", lazy, "complete -arch=compute_90 -opt=3", "ask", "destroy"}
	compiled, found := map[string]int{"compiled": 1}, map[string]int{"disk": 1}
	for _, c := range []struct {
		what  string
		calls []string
		want  map[string]int
	}{
		{"cold", common, compiled},
		{"warm", common, found},
		{"another name", []string{"create", "add 0 sin.ll n", lazy, common[3], "ask"}, compiled},
		{"another module", []string{"create", "add 0 cos.ll m", lazy, common[3], "ask"}, compiled},
		{"another order", []string{"create", lazy, "add 0 sin.ll m", common[3], "ask"}, compiled},
		{"not at need", []string{"create", "add 0 sin.ll m", strings.Replace(lazy, "lazy", "add 0", 1), common[3], "ask"}, compiled},
		{"no name", []string{"create", "add 0 sin.ll", lazy, common[3], "ask"}, compiled},
		{"another option", []string{"create", "add 0 sin.ll m", lazy, "complete -arch=compute_80 -opt=3", "ask"}, compiled},
		{"another order of options", []string{"create", "add 0 sin.ll m", lazy, "complete -opt=3 -arch=compute_90", "ask"}, compiled},
		{"verified before", []string{"create", "add 0 sin.ll m", lazy, "verify", common[3], "ask"}, compiled},
		{"again", []string{"create", "add 0 sin.ll m", lazy, "verify", common[3], "ask"}, found},
		{"verified behind", append(slices.Clone(common[:4]), "verify", "ask", "destroy"), map[string]int{"disk": 1, "passed": 1}},
		{"compiled again", append(slices.Clone(common[:5]), "complete -arch=compute_80", "ask", "destroy"), map[string]int{"disk": 1, "passed": 2}},
		{"a module behind", append(slices.Clone(common[:5]), "add 0 cos.ll n", "ask", common[3], "ask"), map[string]int{"disk": 1, "passed": 3}},
		{"no module", []string{"create", common[3], "ask"}, map[string]int{"passed": 1}},
		{"bad IR", []string{"create", "add 0 bad.ll m", "verify", "ask", common[3], "ask"}, map[string]int{"passed": 1}},
		{"bad IR, not verified", []string{"create", "add 0 bad.ll m", common[3], "ask", "destroy"}, map[string]int{"failed": 1}},
		{"an option that there is none of", []string{"create", "add 0 sin.ll m", "complete -bogus", "ask", common[3], "ask"}, map[string]int{"passed": 2}},
	} {
		s.wantReport(c.what, s.same(nil, inputs, "nvvm", library, c.calls...), c.want)
	}
	s.wantReport("a variable", s.same([]string{"LLVM_OVERRIDE_PRODUCER=x"}, inputs, "nvvm", library, common...), compiled)
}
