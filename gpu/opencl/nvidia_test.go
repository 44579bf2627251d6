//go:build !nogpu

package opencl_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// nvidiaVariable set to 1 runs the tests that need NVIDIA hardware.
const nvidiaVariable = "KERNSTASH_TEST_NVIDIA"

func TestNVIDIA(t *testing.T) {
	if os.Getenv(nvidiaVariable) != "1" {
		t.Skipf("NOT TESTED HERE: needs NVIDIA hardware; set %s=1 there", nvidiaVariable)
	}
	d, err := firstDevice("NV")
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	id, err := d.Identify()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s identified in %v: %v %v", d.Name, time.Since(begin), id.Traits, id.Compiler)
	for _, want := range []string{"libnvidia-opencl", "libnvidia-nvvm", "libnvidia-ptxjitcompiler", "libcuda"} {
		if !hasPair(id.Compiler, want) {
			t.Errorf("%s is not among the compilers: %v", want, id.Compiler)
		}
	}
	if !hasPair(id.Traits, "compute capability") {
		t.Errorf("no compute capability: %v", id.Traits)
	}
	if d.Kind() != opencl.Intermediate {
		t.Errorf("kind %v", d.Kind())
	}
	c, err := opencl.Open(d)
	if err != nil {
		t.Fatal(err)
	}
	defer released(t, c)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	j := job(t, r, key.NewOptions("-cl-kernel-arg-info", ""), source(addSource))
	begin = time.Now()
	p, a, err := r.Build(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("built in %v", time.Since(begin))
	released(t, p)
	if a == nil || a.Binaries[0].Form != store.FormIntermediate || !strings.Contains(string(a.Binaries[0].Data), ".target sm_") {
		t.Fatalf("artifact %+v, want PTX", a)
	}
	if k := a.Kernels; len(k) != 1 || len(k[0].Args) != 4 || k[0].Args[3].TypeName != "float" {
		t.Errorf("kernels %+v", k)
	}
	begin = time.Now()
	restored, err := r.Load(t.Context(), j, a)
	if err != nil {
		t.Fatal(err)
	}
	defer released(t, restored)
	t.Logf("loaded in %v", time.Since(begin))
	addsSeven(t, c, restored)
	after, err := d.Identify()
	if diff := cmp.Diff(id.Digest(), after.Digest()); diff != "" || err != nil {
		t.Errorf("another identity after a build: %s, %v", diff, err)
	}
}

// TestNVIDIAFinish: the driver takes machine code made of its PTX, and the
// program computes the same.
func TestNVIDIAFinish(t *testing.T) {
	if os.Getenv(nvidiaVariable) != "1" {
		t.Skipf("NOT TESTED HERE: needs NVIDIA hardware; set %s=1 there", nvidiaVariable)
	}
	d, err := firstDevice("NV")
	if err != nil {
		t.Fatal(err)
	}
	c, err := opencl.Open(d)
	if err != nil {
		t.Fatal(err)
	}
	defer released(t, c)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	j := job(t, r, key.NewOptions("-cl-kernel-arg-info", ""), source(addSource))
	p, a, err := r.Build(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	released(t, p)
	begin := time.Now()
	finished, err := r.Finish(t.Context(), j, a)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("finished in %v: %d bytes of PTX, %d of machine code", time.Since(begin), len(a.Binaries[0].Data), len(finished.Binaries[0].Data))
	if len(finished.Binaries) != 2 || finished.Binaries[0].Form != store.FormFinal || finished.Binaries[1].Form != store.FormIntermediate || !finished.Better(a) {
		t.Fatalf("forms %+v", finished.Binaries)
	}
	if string(finished.Binaries[0].Data[:4]) != "\x7fELF" {
		t.Errorf("no ELF: %q", finished.Binaries[0].Data[:4])
	}
	begin = time.Now()
	restored, err := r.Load(t.Context(), j, finished)
	if err != nil {
		t.Fatal(err)
	}
	defer released(t, restored)
	t.Logf("loaded in %v", time.Since(begin))
	addsSeven(t, c, restored)
	tuned := job(t, r, key.NewOptions("-cl-nv-maxrregcount=32", ""), source(addSource))
	if _, err := r.Finish(t.Context(), tuned, a); !errors.Is(err, kernstash.ErrNotCacheable) {
		t.Errorf("with an option for the assembler: %v", err)
	}
}

// addsSeven launches a program of addSource, and checks what it computes.
func addsSeven(t *testing.T, c *opencl.Context, p *opencl.Program) {
	t.Helper()
	k, q := kernel(t, p, "add"), queue(t, c)
	b := buffer(t, c, 4*1024)
	got := make([]float32, 1024)
	if err := errors.Join(q.Fill(b, make([]byte, 4), 0, 4*1024), k.Launch(q, []int{1024}, nil, b, b, b, float32(7)), q.Read(b, 0, opencl.Bytes(got))); err != nil {
		t.Fatal(err)
	}
	if got[1023] != 7 {
		t.Errorf("got %v", got[1023])
	}
}
