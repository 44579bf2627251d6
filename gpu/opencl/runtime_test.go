//go:build !nogpu

package opencl_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

const addSource = `
kernel void add(global const float *a, global const float *b, global float *sum, float bias)
{
	size_t i = get_global_id(0);
	sum[i] = a[i] + b[i] + bias;
}`

// job returns the job of an image for device 0 of a runtime.
func job(t testing.TB, r *opencl.Runtime, options key.BuildOptions, units ...key.Unit) kernstash.Job {
	t.Helper()
	m, err := key.NewImageSet(units...)
	if err != nil {
		t.Fatal(err)
	}
	d, err := r.Identify(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if options.Variables, err = r.Variables(0); err != nil {
		t.Fatal(err)
	}
	return kernstash.Job{Devices: []int{0}, Recipe: &key.Recipe{Device: d, Image: m, Options: options}}
}

func source(code string, headers ...key.Header) key.Unit {
	return key.Unit{Kind: key.OpenCLC, Code: []byte(code), Headers: headers}
}

func build(t testing.TB, r *opencl.Runtime, j kernstash.Job) *opencl.Program {
	t.Helper()
	p, _, err := r.Build(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { released(t, p) })
	return p
}

// capture is Capture, which is tried again while other tests launch.
func capture(t testing.TB, r *opencl.Runtime, j kernstash.Job, p *opencl.Program, variants []string, again bool) (a *store.Artifact, err error) {
	t.Helper()
	for range 1000 {
		if a, err = r.Capture(t.Context(), j, p, variants, again); !errors.Is(err, kernstash.ErrBusy) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return a, err
}

func kernel(t testing.TB, p *opencl.Program, name string) *opencl.Kernel {
	t.Helper()
	k, err := p.NewKernel(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { released(t, k) })
	return k
}

func TestVectorAdd(t *testing.T) {
	t.Parallel()
	c := open(t)
	q := queue(t, c)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	k := kernel(t, build(t, r, job(t, r, key.BuildOptions{}, source(addSource))), "add")
	const n = 1000
	a, b, want, got := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range n {
		a[i], b[i] = float32(i), float32(2*i)
		want[i] = float32(3*i) + 0.5
	}
	x, y, z := buffer(t, c, 4*n), buffer(t, c, 4*n), buffer(t, c, 4*n)
	for _, err := range []error{
		q.Write(x, 0, opencl.Bytes(a)), q.Write(y, 0, opencl.Bytes(b)),
		k.Launch(q, []int{n}, nil, x, y, z, float32(0.5)), q.Read(z, 0, opencl.Bytes(got)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBuildFailureIsTheSameTwice(t *testing.T) {
	t.Parallel()
	c := open(t)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	j := job(t, r, key.BuildOptions{}, source("kernel void broken(global int *a) { a[0] = undeclared; }"))
	var before *kernstash.BuildError
	for range 2 {
		_, _, err := r.Build(t.Context(), j)
		var e *kernstash.BuildError
		if !errors.As(err, &e) {
			t.Fatalf("err = %v, want a BuildError", err)
		}
		if !strings.Contains(e.Log, "undeclared") {
			t.Errorf("log %q does not name what is wrong", e.Log)
		}
		if !errors.Is(err, opencl.BuildProgramFailure) || e.Code != int(opencl.BuildProgramFailure) {
			t.Errorf("err = %v, code %d, want CL_BUILD_PROGRAM_FAILURE", err, e.Code)
		}
		if before != nil && before.Code != e.Code {
			t.Errorf("code %d, then %d", before.Code, e.Code)
		}
		before = e
	}
}

func TestBadOptionIsAVerdict(t *testing.T) {
	t.Parallel()
	c := open(t)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	_, _, err := r.Build(t.Context(), job(t, r, key.NewOptions("-no-such-option", ""), source(addSource)))
	var e *kernstash.BuildError
	if !errors.As(err, &e) {
		t.Errorf("err = %v, want a BuildError", err)
	}
}

func TestHeadersAndSeveralUnitsAreLinked(t *testing.T) {
	t.Parallel()
	c := open(t)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	header := key.Header{Name: "twice.h", Content: []byte("int twice(int);\n")}
	empty := key.Header{Name: "sub/empty.h"}
	for name, units := range map[string][]key.Unit{
		"header": {source("#include \"twice.h\"\n#include \"sub/empty.h\"\nint twice(int x) { return 2 * x; }\nkernel void run(global int *a) { a[0] = twice(21); }", header, empty)},
		"units": {
			source("#include \"twice.h\"\nkernel void run(global int *a) { a[0] = twice(21); }", header),
			source("int twice(int x) { return 2 * x; }"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := job(t, r, key.NewOptions("-DX=1", ""), units...)
			q, b := queue(t, c), buffer(t, c, 4)
			check := func(p *opencl.Program) {
				t.Helper()
				k, err := p.NewKernel("run")
				if err != nil {
					t.Fatal(err)
				}
				got := make([]int32, 1)
				if err := errors.Join(k.Launch(q, []int{1}, []int{1}, b), q.Read(b, 0, opencl.Bytes(got)), k.Release()); err != nil || got[0] != 42 {
					t.Errorf("got %d, %v", got[0], err)
				}
			}
			built := build(t, r, j)
			check(built)
			for _, again := range []bool{false, true} {
				a, err := capture(t, r, j, built, []string{"run/1-1-1-goffs0-smallgrid"}, again)
				if err != nil {
					t.Fatalf("capture, again %v: %v", again, err)
				}
				restored, err := r.Load(t.Context(), j, a)
				if err != nil {
					t.Fatalf("load, again %v: %v", again, err)
				}
				check(restored)
				released(t, restored)
			}
		})
	}
}

func TestSixteenGoroutinesBuild(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	c := open(t)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	var all sync.WaitGroup
	for g := range 16 {
		j := job(t, r, key.BuildOptions{}, source(fmt.Sprintf("kernel void k%d(global int *a) { a[0] = %d; }", g, g)))
		all.Go(func() {
			p, a, err := r.Build(context.Background(), j)
			if err != nil {
				t.Error(err)
				return
			}
			defer released(t, p)
			if a != nil {
				t.Error("PoCL's code comes after launches, yet there is an artifact")
			}
			if names, err := p.KernelNames(); err != nil || len(names) != 1 || names[0] != fmt.Sprintf("k%d", g) {
				t.Errorf("kernels %q, %v", names, err)
			}
		})
	}
	all.Wait()
}

func TestDriverWithoutSPIRVSaysSo(t *testing.T) {
	t.Parallel()
	c := open(t)
	if c.Devices()[0].ILVersion != "" {
		t.Skip("this PoCL takes SPIR-V")
	}
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	_, _, err := r.Build(t.Context(), job(t, r, key.BuildOptions{}, key.Unit{Kind: key.SPIRV, Code: sourceFile(t, "scale.spv")}))
	var e *kernstash.BuildError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "no SPIR-V") {
		t.Errorf("err = %v, want a BuildError", err)
	}
	_, _, err = r.Build(t.Context(), job(t, r, key.BuildOptions{}, key.Unit{Kind: key.PTX, Code: []byte("ptx")}))
	if !errors.Is(err, opencl.ErrArgument) {
		t.Errorf("PTX: %v, want ErrArgument", err)
	}
}

func TestCancelledBuildDoesNotStart(t *testing.T) {
	t.Parallel()
	c := open(t)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := r.Build(ctx, job(t, r, key.BuildOptions{}, source(addSource))); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if _, _, err := r.Build(t.Context(), kernstash.Job{Devices: []int{3}, Recipe: job(t, r, key.BuildOptions{}, source(addSource)).Recipe}); !errors.Is(err, opencl.ErrArgument) {
		t.Errorf("device 3 of 1: %v", err)
	}
}
