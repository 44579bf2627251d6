package disassembly

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/needs"
)

// TestInstalledTools: code of real compilers is disassembled by the real tools.
func TestInstalledTools(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(t *testing.T, words ...string) {
		t.Helper()
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", words, err, out)
		}
	}
	is := func(t *testing.T, b []byte, tool string, want ...string) {
		t.Helper()
		all, err := Of(t.Context(), "binary", b)
		if err != nil || len(all) != 1 || all[0].Tool != tool {
			t.Fatalf("%.500v, %v, want that of %s", all, err, tool)
		}
		for _, text := range want {
			if !strings.Contains(all[0].Text, text) {
				t.Errorf("no %q in: %.2000s", text, all[0].Text)
			}
		}
	}
	read := func(t *testing.T, name string) []byte {
		t.Helper()
		b, err := os.ReadFile(file(name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	write("twice.c", "int twice(int x) { return 2 * x; }\n")
	write("twice.cl", "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }\n")
	write("twice.ptx", `.version 7.8
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 p) {
	.reg .b64 a;
	.reg .f32 v;
	ld.param.u64 a, [p];
	ld.global.f32 v, [a];
	add.f32 v, v, v;
	st.global.f32 [a], v;
	ret;
}
`)
	write("held.s", ".section .nv_fatbin,\"a\"\n.balign 8\n.incbin \"twice.fatbin\"\n")

	t.Run("processor", func(t *testing.T) {
		run(t, "cc", "-c", "twice.c")
		tool := "objdump"
		if find("llvm-objdump") != "" {
			tool = "llvm-objdump"
		}
		is(t, read(t, "twice.o"), tool, "Disassembly of section .text", "<twice>:", "ret")
		if runtime.GOARCH == "amd64" { // what holds it is not disassembled
			is(t, append([]byte("box\x00"), read(t, "twice.o")...), tool, "<twice>:")
		}
	})
	t.Run("NVIDIA", func(t *testing.T) {
		cuda := filepath.Join(needs.CUDA(t), "bin")
		run(t, filepath.Join(cuda, "ptxas"), "-arch=sm_80", "twice.ptx", "-o", "twice.cubin")
		run(t, filepath.Join(cuda, "fatbinary"), "--create=twice.fatbin", "--image3=kind=elf,sm=80,file=twice.cubin")
		run(t, "cc", "-c", "held.s")
		t.Setenv("PATH", cuda+":"+os.Getenv("PATH"))
		is(t, read(t, "twice.cubin"), "nvdisasm", ".text.twice", "EF_CUDA_SM80", "FADD ", "EXIT ;")
		is(t, read(t, "twice.fatbin"), "cuobjdump", "code for sm_80", "Function : twice")
		is(t, read(t, "held.o"), "cuobjdump", "code for sm_80", "Function : twice", "FADD ")
	})
	t.Run("AMD", func(t *testing.T) {
		var clang string
		for _, name := range []string{"clang", "clang-15", "clang-16", "clang-17", "clang-18", "clang-19", "clang-14"} {
			if path, err := exec.LookPath(name); err == nil {
				clang = path
				break
			}
		}
		if clang == "" || find("llvm-objdump") == "" {
			needs.Missing(t, "there is no clang, or no llvm-objdump", "clang-15 llvm-15")
		}
		run(t, clang, "-x", "cl", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-nogpulib", "-c", "twice.cl", "-o", "amd.o")
		is(t, read(t, "amd.o"), "llvm-objdump", "elf64-amdgpu", "<twice>:", "s_endpgm")
	})
	t.Run("Intel", func(t *testing.T) {
		if runtime.GOARCH != "amd64" {
			t.Skip("NOT RUN: Intel's compiler is one of x86-64")
		}
		needs.Tool(t, "ocloc", "intel-opencl-icd")
		for _, format := range []string{"patchtokens", "zebin"} {
			run(t, "ocloc", "compile", "-q", "-file", "twice.cl", "-device", "tgllp", "-out_dir", format, "-output", "twice", "--format", format)
			all, err := filepath.Glob(file(format + "/*.bin"))
			if err != nil || len(all) != 1 {
				t.Fatalf("%s: %v, %v", format, all, err)
			}
			b, err := os.ReadFile(all[0])
			if err != nil {
				t.Fatal(err)
			}
			t.Run(format, func(t *testing.T) {
				// ocloc opens its library by a name that on Debian a package for developers alone has.
				iga := t.TempDir()
				for _, lib := range []string{"/usr/lib/x86_64-linux-gnu/libiga64.so.1", "/usr/lib/x86_64-linux-gnu/libiga64.so.2"} {
					if _, err := os.Stat(lib); err == nil {
						if err := os.Symlink(lib, filepath.Join(iga, "libiga64.so")); err != nil {
							t.Fatal(err)
						}
						break
					}
				}
				t.Setenv("LD_LIBRARY_PATH", iga)
				is(t, b, "ocloc", "twice", ".asm:\n", "(W) ", "{EOT")
			})
		}
	})
}
