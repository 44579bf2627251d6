//go:build !nogpu

package layer_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/stats"
)

// random is what pyopencl adds to a source (its cache.py), another one at each start.
func random(n int) string {
	return fmt.Sprintf("\n\n__constant int pyopencl_defeat_cache_%032x = 0;", n)
}

// Sources that differ in the random name of the constant at their end are one.
func TestRandomName(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	h := newHost(t, openLayer(t, root), device(t, "INTEL"))
	cold := h.build(source(40)+random(1), &none)
	counted(t, h.l, stats.DiskPuts, 1)
	h.l.Settle()
	if p := h.build(source(40)+random(2), &none); p.String() != "restored" || !bytes.Equal(p.binaries[0], cold.binaries[0]) {
		t.Errorf("%v, %s", p, p.reason)
	}
	if p := h.build(source(40), &none); p.String() != "built" {
		t.Errorf("the source without a constant: %v", p)
	}
	if p := h.build(source(41)+random(1), &none); p.String() != "built" {
		t.Errorf("another source with the same name: %v", p)
	}
}

// A log that tells of the name is of no use to the next start.
func TestRandomNameInALog(t *testing.T) {
	t.Parallel()
	const pragma = `#pragma clang diagnostic warning "-Wmissing-variable-declarations"` + "\n"
	for _, suffix := range []string{"INTEL", "POCL"} {
		root := filepath.Join(t.TempDir(), "root")
		l := openLayer(t, root)
		h := newHost(t, l, device(t, suffix))
		for n := range 2 {
			p := h.build(pragma+source(48)+random(n), &none)
			if p.String() != "built" {
				t.Errorf("%s: %v", suffix, p)
			}
			l.Launched(p.number, "put48", [3]uintptr{0, 64, 64})
			l.Settle()
		}
		if suffix == "INTEL" && len(entryFiles(t, root)) > 0 {
			t.Error("an entry")
		}
		if suffix == "INTEL" {
			spooled(t, l, root, 0)
		}
	}
}

// On PoCL the worker is left one job for it, whose recipe has the fixed name.
func TestRandomNameIsLeftOnce(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	l := openLayer(t, root)
	h := newHost(t, l, device(t, "POCL"))
	for n := range 3 {
		p := h.build(source(42)+random(n), &none)
		l.Launched(p.number, "put42", [3]uintptr{0, 64, 64})
	}
	job := spooled(t, l, root, 1)[0]
	if code := string(job.Recipe.Image.Units()[0].Code); code != source(42)+random(0) {
		t.Errorf("the worker is to build %q", code)
	}
}

// Where it is not certain that the name means nothing, nothing is kept, and it is said why.
func TestRandomNameThatMayMean(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.h"), []byte("#define A pyopencl_\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"INTEL", "POCL"} {
		root := filepath.Join(t.TempDir(), "root")
		l := openLayer(t, root)
		h := newHost(t, l, device(t, suffix))
		for _, c := range []struct {
			source, options, how string
		}{
			{source(43), "-cl-opt-disable", "passed"},
			{"extern constant int pyopencl_defeat_cache_00000000000000000000000000000000;\n" + source(44), "", "passed"},
			{fmt.Sprintf("#define NAME pyopencl_defeat_cache_ ## %032x\n", 7) + source(45), "", "passed"},
			{fmt.Sprintf("#include \"a.h\"\n#define B defeat_cache_ ## %032x\n", 7) + source(46), "-I " + dir, "built"},
		} {
			p := h.build(c.source+random(7), &c.options)
			if p.String() != c.how || c.how == "passed" && !strings.Contains(p.reason, "random name") {
				t.Errorf("%s: %q: %v, %q", suffix, c.source, p, p.reason)
			}
			l.Launched(p.number, "put46", [3]uintptr{0, 64, 64})
		}
		r := h.request(source(47)+random(7), nil)
		r.What = layer.Compile
		r.Units[0].Options = &none
		if _, reply, ok := l.Ask(r); !ok || reply.Action != front.Pass {
			t.Errorf("%s: a unit to be linked: %+v", suffix, reply)
		}
		spooled(t, l, root, 0)
		if files := entryFiles(t, root); len(files) > 0 {
			t.Errorf("%s: %d entries", suffix, len(files))
		}
	}
}

// With the files that they include they are one, too.
func TestRandomNameAndHeaders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	header := filepath.Join(dir, "a.h")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(header, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("#define VALUE 1\n")
	h := newHost(t, openLayer(t, filepath.Join(t.TempDir(), "root")), device(t, "INTEL"))
	options := "-I " + dir
	build := func(n int) string {
		p := h.build("#include <a.h>\nkernel void k(global int *p) { *p = VALUE; }"+random(n), &options)
		h.l.Settle()
		return p.String()
	}
	how := []string{build(1), build(2)}
	write(fmt.Sprintf("#define VALUE 2\n// pyopencl_defeat_cache_%032x\n", 3))
	how = append(how, build(3), build(3), build(4))
	write("#define VALUE 1\n")
	how = append(how, build(5))
	if want := "[built restored built built built restored]"; fmt.Sprint(how) != want {
		t.Errorf("%v, want %s", how, want)
	}
}

// What both drivers make of the constant's name: nothing but the name itself, and on Intel's a
// hash of what was compiled. This is what Repeatable rests on.
func TestDriversMakeNothingOfARandomName(t *testing.T) {
	t.Parallel()
	const code = `constant int table[4] = {1, 2, 3, 4};
constant float used = 3.0f;
int look(int i) { return table[i & 3]; }
kernel void k(global int *p, constant int *q) { p[get_global_id(0)] += look(p[0]) + q[1] + (int)used; }
kernel void l(global float *x) { x[0] = used; }
#pragma STDC FP_CONTRACT OFF
kernel void m(global float *x) {
#pragma omp parallel for
	for (int i = 0; i < 4; i++) x[i] *= used;
}
#pragma omp declare simd
`
	options := []string{"-cl-fast-relaxed-math -cl-kernel-arg-info"}
	if os.Getenv("KERNSTASH_TEST_LONG") == "1" {
		options = append(options, "", "-cl-std=CL1.2", "-cl-std=CL3.0", "-cl-mad-enable -w -Werror")
	}
	for _, suffix := range []string{"INTEL", "POCL"} {
		d := device(t, suffix)
		for _, o := range options {
			if one, other := built(t, d, code+random(0), o), built(t, d, code+random(1), o); one != other {
				t.Errorf("%s, %q:\n%s\nand with another name\n%s", suffix, o, one, other)
			}
		}
	}
}

// built returns what can be seen of a program, and its machine code, as text.
func built(t *testing.T, d *opencl.Device, code, options string) string {
	t.Helper()
	c, err := opencl.Open(d)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Release() }()
	id, err := cl.CreateProgramWithSource(cl.ContextID(c.Handle()), []byte(code))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cl.Status("clReleaseProgram", uintptr(id)) }()
	on := cl.DeviceID(d.Handle())
	if err := cl.BuildProgram(id, []cl.DeviceID{on}, &options); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, param := range []uint32{cl.ProgramBuildLog, 0x1184 /* binary type */, 0x1185 /* size of global variables */} {
		info, err := cl.Info("clGetProgramBuildInfo", param, uintptr(id), uintptr(on))
		fmt.Fprintf(&out, "%#x: %q %v\n", param, info, err)
	}
	names, _ := cl.Info("clGetProgramInfo", cl.ProgramKernelNames, uintptr(id))
	fmt.Fprintf(&out, "%s\n", names)
	kernels, err := cl.CreateKernelsInProgram(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kernels {
		for param := uint32(0x11B0); param <= 0x11B4; param++ { // work-group size to private memory
			info, err := cl.Info("clGetKernelWorkGroupInfo", param, uintptr(k), uintptr(on))
			fmt.Fprintf(&out, "%#x: %x %v\n", param, info, err)
		}
		_ = cl.Status("clReleaseKernel", uintptr(k))
	}
	bin, err := cl.GetProgramBinary(id, on)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.HasPrefix(bin, []byte("\x7fELF")) {
		for i, s := range sections(bin) {
			if !bytes.HasPrefix(s, []byte{3, 2, 0x23, 7}) { // SPIR-V, where the constant's name is
				fmt.Fprintf(&out, "section %d: %x\n", i, withoutHash(s))
			}
		}
		return out.String()
	}
	for at := bytes.Index(bin, []byte("\x7fELF")); at >= 0; {
		for i, s := range sections(bin[at:]) {
			fmt.Fprintf(&out, "section %d: %x\n", i, s)
		}
		next := bytes.Index(bin[at+1:], []byte("\x7fELF"))
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return out.String()
}

// sections returns the contents of the sections of an ELF file, in order.
func sections(elf []byte) (all [][]byte) {
	at, size := binary.LittleEndian.Uint64(elf[40:]), uint64(binary.LittleEndian.Uint16(elf[58:]))
	for range binary.LittleEndian.Uint16(elf[60:]) {
		h := elf[at:]
		var content []byte
		if kind := binary.LittleEndian.Uint32(h[4:]); kind != 0 && kind != 8 { // NULL, NOBITS
			from, n := binary.LittleEndian.Uint64(h[24:]), binary.LittleEndian.Uint64(h[32:])
			content = elf[from : from+n]
		}
		all = append(all, content)
		at += size
	}
	return all
}

// withoutHash returns the patch tokens of an Intel binary without each kernel's
// ShaderHashCode, a hash of the SPIR-V that is kept for debugging: 8 bytes that all its kernels
// have. The header is 28 bytes and says how many kernels there are, and how long the tokens of
// the program are; each kernel has a checksum before the hash.
func withoutHash(tokens []byte) []byte {
	if !bytes.HasPrefix(tokens, []byte("CTNI")) {
		return tokens
	}
	word := func(i int) int { return int(binary.LittleEndian.Uint32(tokens[i:])) }
	first := 28 + word(24)
	hash := bytes.Clone(tokens[first+4 : first+12])
	return bytes.ReplaceAll(bytes.Clone(tokens), hash, make([]byte, len(hash)))
}
