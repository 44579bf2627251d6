//go:build !nogpu

package opencl_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
)

func TestScalarsArriveAsTheyAre(t *testing.T) {
	t.Parallel()
	c := open(t)
	q := queue(t, c)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	k := kernel(t, build(t, r, job(t, r, key.BuildOptions{}, source(`
typedef struct { int a; float b; } pair;
kernel void sum(global double *out, char c, uchar uc, short s, int i, uint u, float f, long l, ulong ul,
                float4 v, pair p, local int *scratch, global int *null)
{
	scratch[0] = 1;
	out[0] = c; out[1] = uc; out[2] = s; out[3] = i; out[4] = u; out[5] = f; out[6] = l; out[7] = ul;
	out[8] = v.w; out[9] = p.b; out[10] = null == 0 ? scratch[0] : -1;
}`))), "sum")
	b := buffer(t, c, 8*11)
	type pair struct {
		A int32
		B float32
	}
	got := make([]float64, 11)
	err := k.Launch(q, []int{1}, []int{1}, b, int8(-1), uint8(200), int16(-300), int32(-70000), uint32(1<<31), float32(0.5),
		int64(-1<<40), uint64(1<<41), [4]float32{1, 2, 3, 4}, pair{1, 2.5}, opencl.Local(64), nil)
	if err := errors.Join(err, q.Read(b, 0, opencl.Bytes(got))); err != nil {
		t.Fatal(err)
	}
	want := []float64{-1, 200, -300, -70000, 1 << 31, 0.5, -1 << 40, 1 << 41, 4, 2.5, 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestArgumentsThatHaveNoSizeAreRefused(t *testing.T) {
	t.Parallel()
	for _, arg := range []any{1, uint(1), true, "text", []int32{1}, new(int32), struct{ N int }{1}, func() {}, map[int]int{}} {
		if _, err := opencl.AppendArg(nil, arg); !errors.Is(err, opencl.ErrArgument) {
			t.Errorf("%T: %v, want ErrArgument", arg, err)
		}
	}
	b, err := opencl.AppendArg(nil, []byte{1, 2, 3})
	if err != nil || !slices.Equal(b, []byte{1, 2, 3}) {
		t.Errorf("bytes: %v, %v", b, err)
	}
}

func TestLaunchErrors(t *testing.T) {
	t.Parallel()
	c := open(t)
	q := queue(t, c)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	k := kernel(t, build(t, r, job(t, r, key.BuildOptions{}, source("kernel void one(global int *a, int b) { a[0] = b; }"))), "one")
	b := buffer(t, c, 4)
	gone := buffer(t, c, 4)
	released(t, gone)
	for name, x := range map[string]struct {
		err  error
		want error
	}{
		"no global size":      {k.Launch(q, nil, nil, b, int32(1)), opencl.ErrArgument},
		"four dimensions":     {k.Launch(q, []int{1, 1, 1, 1}, nil, b, int32(1)), opencl.ErrArgument},
		"zero global size":    {k.Launch(q, []int{0}, nil, b, int32(1)), opencl.ErrArgument},
		"dimensions differ":   {k.Launch(q, []int{4}, []int{2, 2}, b, int32(1)), opencl.ErrArgument},
		"group does not fit":  {k.Launch(q, []int{4}, []int{8192}, b, int32(1)), opencl.InvalidWorkGroupSize},
		"argument too large":  {k.Launch(q, []int{1}, nil, b, int64(1)), opencl.InvalidArgSize},
		"too many arguments":  {k.Launch(q, []int{1}, nil, b, int32(1), int32(1)), opencl.InvalidArgIndex},
		"empty argument":      {k.Launch(q, []int{1}, nil, b, []byte{}), opencl.ErrArgument},
		"released buffer":     {k.Launch(q, []int{1}, nil, gone, int32(1)), opencl.ErrReleased},
		"int has no fix size": {k.Launch(q, []int{1}, nil, b, 1), opencl.ErrArgument},
	} {
		if !errors.Is(x.err, x.want) {
			t.Errorf("%s: %v, want %v", name, x.err, x.want)
		}
	}
	fresh := kernel(t, build(t, r, job(t, r, key.BuildOptions{}, source("kernel void two(global int *a, int b) { a[0] = b; }"))), "two")
	if err := fresh.Launch(q, []int{1}, nil, b); !errors.Is(err, opencl.InvalidKernelArgs) {
		t.Errorf("no arguments: %v", err)
	}
}

func TestLaunchesOfOneKernelKeepTheirArguments(t *testing.T) {
	t.Parallel()
	c := open(t)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	k := kernel(t, build(t, r, job(t, r, key.BuildOptions{}, source("kernel void put(global int *a, int i, int v) { a[i] = v; }"))), "put")
	const n = 64
	b := buffer(t, c, 4*n)
	var all sync.WaitGroup
	for g := range 8 {
		q := queue(t, c)
		all.Go(func() {
			for i := g; i < n; i += 8 {
				if err := k.Launch(q, []int{1}, []int{1}, b, int32(i), int32(i*i)); err != nil {
					t.Error(err)
				}
			}
			if err := q.Finish(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got := make([]int32, n)
	if err := queue(t, c).Read(b, 0, opencl.Bytes(got)); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if int(v) != i*i {
			t.Errorf("element %d is %d", i, v)
		}
	}
}

// TestVariantsAreWhatPoCLMakes launches in many ways and compares the variants
// that are told with the directories that PoCL keeps code in.
func TestVariantsAreWhatPoCLMakes(t *testing.T) {
	c := open(t)
	q := queue(t, c)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	k := kernel(t, build(t, r, job(t, r, key.BuildOptions{}, source("kernel void variants_of(global int *a) { a[0] = 1; }"))), "variants_of")
	b := buffer(t, c, 4)
	var told []string
	for _, x := range []opencl.Range{
		{Global: []int{64}, Local: []int{64}},
		{Global: []int{128}, Local: []int{64}},
		{Global: []int{65534}, Local: []int{2}},
		{Global: []int{65535}, Local: []int{5}},
		{Global: []int{10}, Local: []int{5}}, // the general version serves it
		{Global: []int{70}, Local: []int{7}, Offset: []int{3}},
		{Global: []int{70}, Local: []int{7}},
		{Global: []int{70}, Local: []int{10}, Offset: []int{0}},
		{Global: []int{8, 8}, Local: []int{4, 2}},
		{Global: []int{8, 8, 8}, Local: []int{1, 2, 4}},
	} {
		v, err := k.Noting(q, x, b)
		if err != nil {
			t.Fatal(err)
		}
		if v != "" {
			told = append(told, v)
		}
	}
	if err := q.Finish(); err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, file := range compiled() {
		if dir := filepath.Dir(file); strings.Contains(dir, "/variants_of/") {
			made = append(made, "variants_of/"+filepath.Base(dir))
		}
	}
	slices.Sort(told)
	slices.Sort(made)
	if diff := cmp.Diff(made, told); diff != "" {
		t.Errorf("%s: PoCL made -, we told +\n%s", os.Getenv("POCL_CACHE_DIR"), diff)
	}
}

func TestAutomaticLocalSizesAreBounded(t *testing.T) {
	t.Parallel()
	c := open(t)
	q := queue(t, c)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	k := kernel(t, build(t, r, job(t, r, key.BuildOptions{}, source("kernel void any_size(global int *a) { a[0] = 1; }"))), "any_size")
	b := buffer(t, c, 4)
	told := map[string]bool{}
	for n := range 20 {
		v, err := k.Noting(q, opencl.Range{Global: []int{1 << (n % 10)}}, b)
		if err != nil {
			t.Fatal(err)
		}
		if told[v] && v != "" {
			t.Errorf("%s told twice", v)
		}
		told[v] = true
	}
	if !told["any_size/auto-1-1-1-goffs0-smallgrid"] || len(told) != 8+1 {
		t.Errorf("told %d: %v", len(told), told)
	}
	if err := q.Finish(); err != nil {
		t.Fatal(err)
	}
}
