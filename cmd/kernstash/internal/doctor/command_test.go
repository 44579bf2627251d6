package doctor

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/loaded"
	"github.com/kernstash/kernstash/internal/runlog"
)

func TestCompilerOf(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/lib/libnvrtc.so.11.2":              "NVRTC",
		"/lib/libnvrtc-builtins.so.11.8":     "",
		"/usr/local/cuda/lib64/libnvrtc.so":  "NVRTC",
		"/opt/torch/triton/bin/ptxas":        "ptxas, as a program",
		"/opt/triton/bin/ptxas-blackwell":    "ptxas-blackwell, as a program",
		"/opt/ptxas-helper":                  "",
		"/lib/libze_loader.so.1":             "Level Zero loader",
		"/x/libnvidia-ptxjitcompiler.so.580": "PTX compiler of NVIDIA's driver",
		"/x/xla_extension.so":                "XLA (JAX)",
		"/usr/bin/nvcc":                      "nvcc, as a program",
		"/lib/libc.so.6":                     "",
	} {
		c, ok := compilerOf(path)
		if c.Name != want || ok != (want != "") {
			t.Errorf("%s is %q (%v), want %q", path, c.Name, ok, want)
		}
	}
}

// What was asked of the cache is told of the compiler that it belongs to, once, those first that
// took longest; what was asked of one that nobody saw loaded is told, too.
func TestUsedOf(t *testing.T) {
	t.Parallel()
	got := &loaded.Report{
		Libraries: []loaded.Object{
			{Path: "/none/libOpenCL.so.1", By: []string{"app"}},
			{Path: "/lib/libc.so.6", By: []string{"app"}},
			{Path: "/lib/libnvinfer.so.10", By: []string{"app"}},
			{Path: "/lib/libnvrtc.so.12", By: []string{"app"}},
			{Path: "/other/libnvrtc.so.13", By: []string{"app"}},
			{Path: "/lib/libnvJitLink-0369e686.so.12", By: []string{"app"}},
			{Path: "/lib/libnvvm.so.4", By: []string{"app"}},
		},
		Programs: []loaded.Object{{Path: "/bin/app"}, {Path: "/cuda/bin/ptxas"}},
	}
	uses := []runlog.Use{
		{What: "ptxas", Outcomes: runlog.Outcomes{Asked: 3, Disk: 3}, Spent: 3 * time.Second},
		{What: "nvrtc", Outcomes: runlog.Outcomes{Asked: 2, Memory: 1, Compiled: 1}, Spent: 2 * time.Second, Why: []runlog.Count{{What: "why", N: 1}}},
		{What: "opencl-preload", Outcomes: runlog.Outcomes{Asked: 1, Failed: 1}, Spent: time.Second},
		{What: "nvjitlink", Outcomes: runlog.Outcomes{Asked: 2, Compiled: 2}, Spent: 20 * time.Millisecond},
		{What: "nvvm", Outcomes: runlog.Outcomes{Asked: 1, Disk: 1}, Spent: 10 * time.Millisecond},
		{What: "ocloc", Outcomes: runlog.Outcomes{Asked: 1, Passed: 1}},
	}
	r := new(Report)
	all := usedOf(got, uses)
	for _, u := range all {
		u.tell(r)
	}
	want := []tool.Finding{
		{Subject: "ptxas, as a program", Verdict: tool.OK, Text: "/cuda/bin/ptxas", Advice: "served where it is started: see 'kernstash compilers'; asked for 3 programs in 3.00 s: 3 found"},
		{
			Subject: "NVRTC", Verdict: tool.OK, Text: "/lib/libnvrtc.so.12, loaded by app",
			Advice: "served by 'kernstash run'; asked for 2 programs in 2.00 s: 1 found, 1 compiled (why)",
		},
		{
			Subject: "OpenCL loader", Verdict: tool.OK, Text: "/none/libOpenCL.so.1, loaded by app",
			Advice: "served by 'kernstash run', as a layer of it; asked for 1 program in 1.00 s: 1 refused by the compiler",
		},
		{
			Subject: "nvJitLink", Verdict: tool.OK, Text: "/lib/libnvJitLink-0369e686.so.12, loaded by app",
			Advice: "served by 'kernstash run'; asked for 2 programs in 20.0 ms: 2 compiled",
		},
		{
			Subject: "libNVVM (Numba and others)", Verdict: tool.OK, Text: "/lib/libnvvm.so.4, loaded by app",
			Advice: "served by 'kernstash run'; asked for 1 program in 10.0 ms: 1 found",
		},
		{Subject: "TensorRT", Verdict: tool.Info, Text: "/lib/libnvinfer.so.10, loaded by app", Advice: "not served: keep its engines, and its timing cache, yourself"},
		{
			Subject: "NVRTC", Verdict: tool.OK, Text: "/other/libnvrtc.so.13, loaded by app",
			Advice: "served by 'kernstash run'; it compiled nothing that the cache was asked for",
		},
		{Subject: "compiler, as a program", Verdict: tool.Info, Text: "ocloc", Advice: "not served: ccache and sccache are for those; asked for 1 program: 1 passed by"},
	}
	if diff := cmp.Diff(want, r.Findings); diff != "" {
		t.Error(diff)
	}
	const line = "'kernstash run' serves ptxas, as a program, NVRTC, OpenCL loader, nvJitLink, libNVVM (Numba and others); not TensorRT, compiler, as a program"
	if got := servedInOneLine(all); got != line {
		t.Error(got)
	}
}

// TestShare: what several do at once may be longer than the command, of which it is no part then.
func TestShare(t *testing.T) {
	t.Parallel()
	for want, spent := range map[string]time.Duration{
		"300 ms of 1.00 s were spent on what it serves":                      300 * time.Millisecond,
		"3.00 s were spent on what it serves, by several at once, in 1.00 s": 3 * time.Second,
	} {
		if got := share(spent, time.Second); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
