package doctor

import (
	"testing"
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
		"/usr/bin/nvcc":                      "compiler, as a program",
		"/lib/libc.so.6":                     "",
	} {
		c, ok := compilerOf(path)
		if c.Name != want || ok != (want != "") {
			t.Errorf("%s is %q (%v), want %q", path, c.Name, ok, want)
		}
	}
}
