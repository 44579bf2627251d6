//go:build !nogpu

package opencl_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

func TestIdentityNamesWhatCompiles(t *testing.T) {
	t.Parallel()
	d := device(t)
	id, err := d.Identify()
	if err != nil {
		t.Fatal(err)
	}
	if id.API != "opencl" || id.Platform != d.Platform().Name || id.Name != d.Name || id.Version != d.Version || id.Driver != d.Driver {
		t.Errorf("identity %v", id)
	}
	for _, want := range []string{"libpocl.so", "libLLVM", "libclang-cpp.so", "libpocl-devices-"} {
		if !hasPair(id.Compiler, want) {
			t.Errorf("%s is not among the compilers: %v", want, id.Compiler)
		}
	}
	for _, want := range []string{"processor", "processor flags", "address bits", "type"} {
		if !hasPair(id.Traits, want) {
			t.Errorf("%q is not among the traits: %v", want, id.Traits)
		}
	}
	for _, p := range append(id.Compiler, id.Traits...) {
		if strings.HasPrefix(p.Value, "/") || strings.Contains(p.Name, "/") || p.Value == "" {
			t.Errorf("%s = %q", p.Name, p.Value)
		}
	}
	again, err := d.Identify()
	if err != nil || again.Digest() != id.Digest() {
		t.Errorf("asked again: %v, %v", again, err)
	}
}

func hasPair(pairs []key.Pair, prefix string) bool {
	for _, p := range pairs {
		if strings.HasPrefix(p.Name, prefix) {
			return true
		}
	}
	return false
}

func TestEqualPartsAreEqualAndShareABuild(t *testing.T) {
	t.Parallel()
	root := device(t)
	if root.Limits.ComputeUnits < 2 {
		t.Log("one compute unit: the only part is the whole")
	}
	parts, err := root.SubDevicesEqually(1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, p := range parts {
			released(t, p)
		}
	}()
	c, err := opencl.Open(parts...)
	if err != nil {
		t.Fatal(err)
	}
	defer released(t, c)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	j := job(t, r, key.BuildOptions{}, source(addSource))
	j.Devices = nil
	for i, p := range parts {
		id, err := p.Identify()
		if err != nil || id.Digest() != j.Recipe.Device.Digest() {
			t.Errorf("part %d: %v, %v", i, id, err)
		}
		if p.Parent() != root {
			t.Errorf("part %d is of %v", i, p.Parent())
		}
		j.Devices = append(j.Devices, i)
	}
	k := kernel(t, build(t, r, j), "add")
	for i, p := range parts {
		q, err := c.NewQueue(p, opencl.QueueOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b := buffer(t, c, 64)
		got := make([]float32, 16)
		for _, err := range []error{q.Fill(b, make([]byte, 4), 0, 64), k.Launch(q, []int{16}, []int{16}, b, b, b, float32(i)), q.Read(b, 0, opencl.Bytes(got))} {
			if err != nil {
				t.Fatalf("part %d: %v", i, err)
			}
		}
		if got[15] != float32(i) {
			t.Errorf("part %d: %v", i, got)
		}
		released(t, q)
	}
}

func TestSubDevicesByCounts(t *testing.T) {
	t.Parallel()
	parts, err := device(t).SubDevicesByCounts(1)
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) != 1 || parts[0].Limits.ComputeUnits != 1 {
		t.Errorf("%d parts", len(parts))
	}
	for _, p := range parts {
		released(t, p)
		released(t, p)
		if _, err := p.SubDevicesEqually(1); err == nil {
			t.Error("a released part was divided")
		}
	}
}

func TestVariablesOfPoCL(t *testing.T) {
	t.Parallel()
	got := device(t).Platform().ObeysIn([]string{
		"POCL_WORK_GROUP_METHOD=cbs", "POCL_CACHE_DIR=/x", "POCL_KERNEL_CACHE=1", "POCL_DEBUG=all", "POCL_DEBUG_LLVM_PASSES=1",
		"POCL_TRACING_FILTER=x", "POCL_BINARY_SPECIALIZE_WG=64", "POCL_MAX_WORK_GROUP_SIZE=64", "POCL_NEW_IN_A_LATER_RELEASE=1",
		"HOME=/root", "IGC_EnableX=1", "ProductFamilyOverride=dg2",
	})
	want := []string{"POCL_MAX_WORK_GROUP_SIZE=64", "POCL_NEW_IN_A_LATER_RELEASE=1", "POCL_WORK_GROUP_METHOD=cbs"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestVariablesThatChangeMakeBuildsUnsure: PoCL keeps some variables of its
// first build.
func TestVariablesThatChangeMakeBuildsUnsure(t *testing.T) {
	t.Parallel()
	child(t, "changed variables", rootVariable+"="+t.TempDir(), "POCL_CACHE_DIR="+t.TempDir())
}

func changedVariablesChild() error {
	ctx := context.Background()
	d, err := firstDevice("POCL")
	if err != nil {
		return err
	}
	cache, c, q, done, err := openCached(os.Getenv(rootVariable), d)
	if err != nil {
		return err
	}
	g, err := newRig(opencl.RuntimeOptions{})
	if err != nil {
		return err
	}
	p, _, err := g.r.Build(ctx, g.job)
	if err != nil {
		return err
	}
	if err := g.launch(p, 64); err != nil {
		return err
	}
	variants := []string{"smooth/64-1-1-goffs0-smallgrid"}
	if _, err := g.r.Capture(ctx, g.job, p, variants, true); err != nil {
		return fmt.Errorf("capture of a twin: %w", err)
	}

	const variable = "POCL_KERNSTASH_TEST"
	os.Setenv(variable, "1")
	if v, err := g.r.Variables(0); err == nil {
		return fmt.Errorf("variables %v, without an error", v)
	}
	os.Unsetenv(variable)
	if v, err := g.r.Variables(0); err == nil {
		return fmt.Errorf("variables %v, which were others meanwhile, without an error", v)
	}
	if _, err := g.r.Capture(ctx, g.job, p, variants, true); !errors.Is(err, kernstash.ErrNotCacheable) {
		return fmt.Errorf("capture of a twin: %w, want ErrNotCacheable", err)
	}
	image, err := kernstash.NewImage(key.OpenCLC, []byte("kernel void uncached(global int *a) { a[0] = 1; }"))
	if err != nil {
		return err
	}
	k, err := c.Kernel(ctx, kernstash.Request{Image: image}, "uncached")
	if err != nil {
		return err
	}
	b, err := c.NewBuffer(opencl.ReadWrite, 4)
	if err != nil {
		return err
	}
	if err := errors.Join(k.Launch(q, []int{1}, []int{1}, b), q.Finish(), b.Release()); err != nil {
		return err
	}
	k.Release()
	if err := done(); err != nil {
		return err
	}
	if s := cache.Stats(); s.Get(stats.Of(reason.NotCacheableRuntime)) != 1 || s.Get(stats.Captures)+s.Get(stats.DiskPuts) != 0 {
		return fmt.Errorf("not cacheable %d, captures %d", s.Get(stats.Of(reason.NotCacheableRuntime)), s.Get(stats.Captures))
	}
	return nil
}

func TestVariablesOfOtherDrivers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		suffix        string
		environ, want []string
	}{
		{"INTEL", []string{"IGC_EnableX=1", "NEO_CACHE_DIR=/x", "ProductFamilyOverride=dg2", "HOME=/"}, []string{"IGC_EnableX=1"}},
		{
			"INTEL",
			[]string{"NEOReadDebugKeys=1", "ProductFamilyOverride=dg2", "PrintDebugMessages=1", "HOME=/", "Path=/", "LC_ALL=C"},
			[]string{"NEOReadDebugKeys=1", "Path=/", "ProductFamilyOverride=dg2"},
		},
		{"INTEL", []string{"NEOReadDebugKeys=0", "ProductFamilyOverride=dg2"}, []string{"NEOReadDebugKeys=0"}},
		{"NV", []string{"CUDA_FORCE_PTX_JIT=1", "CUDA_CACHE_PATH=/x", "CUDA_VISIBLE_DEVICES=0"}, []string{"CUDA_FORCE_PTX_JIT=1"}},
		{"AMD", []string{"AMD_OCL_BUILD_OPTIONS_APPEND=-g", "AMD_OCL_LINK_OPTIONS=-x", "PATH=/"}, []string{"AMD_OCL_BUILD_OPTIONS_APPEND=-g", "AMD_OCL_LINK_OPTIONS=-x"}},
		{
			"MESA",
			[]string{"RUSTICL_FEATURES=fp64", "LP_NATIVE_VECTOR_WIDTH=128", "MESA_SHADER_CACHE_DIR=/x", "MESA_LOG_FILE=/x", "HOME=/"},
			[]string{"LP_NATIVE_VECTOR_WIDTH=128", "RUSTICL_FEATURES=fp64"},
		},
		{"clvk", []string{"CLVK_CLSPV_OPTIONS=-O0", "CLVK_CACHE_DIR=/x", "CLVK_LOG=3", "VK_ICD_FILENAMES=/x"}, []string{"CLVK_CLSPV_OPTIONS=-O0"}},
		{"MESA", []string{"RUSTICL_ENABLE=llvmpipe", "LP_NUM_THREADS=2"}, nil},
		{"OTHER", []string{"IGC_EnableX=1", "POCL_X=1"}, nil},
		// Nobody has looked at what they obey: what has a name of theirs counts, and what
		// any compiler may obey; what the loader and the layers obey does not.
		{"OTHER", []string{"OTHER_OPTIONS=-O0", "CL_CONFIG_X=1", "LLVM_X=1", "OTHERWISE=1"}, []string{"CL_CONFIG_X=1", "LLVM_X=1", "OTHERWISE=1", "OTHER_OPTIONS=-O0"}},
		{"", []string{"ACME_X=1", "VENDOR_X=1", "OCL_ICD_VENDORS=/x", "OPENCL_LAYERS=/x", "HOME=/"}, []string{"ACME_X=1", "VENDOR_X=1"}},
		{"oclg", []string{"OCLGRIND_BUILD_OPTIONS=-DX", "CL_X=1"}, []string{"OCLGRIND_BUILD_OPTIONS=-DX"}},
	} {
		p := &opencl.Platform{Name: "Acme Compute(R)", Vendor: "Vendor, Inc.", Suffix: c.suffix}
		if diff := cmp.Diff(c.want, p.ObeysIn(c.environ)); diff != "" {
			t.Errorf("%s: %s", c.suffix, diff)
		}
	}
}

// TestHeadersUnasked: clang without its own declarations of what is built in takes them from
// the directories of -I first.
func TestHeadersUnasked(t *testing.T) {
	t.Parallel()
	with, without := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(with, "opencl-c-base.h"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		suffix  string
		words   []string
		against bool
	}{
		{"MESA", []string{"-DN=1", "-I", without}, false},
		{"MESA", []string{"-I", without, "-I" + with}, true},
		{"MESA", []string{"-isystem", with}, true},
		{"OTHER", []string{"-I" + with}, true},
		{"OTHER", []string{"-I" + without}, false},
		{"INTEL", []string{"-I" + with}, false},
		{"MESA", []string{"-I"}, true}, // of what?
	} {
		p := &opencl.Platform{Suffix: c.suffix}
		if err := p.Against(c.words...); (err != nil) != c.against {
			t.Errorf("%s %q: %v", c.suffix, c.words, err)
		}
	}
}

// TestTimingOfIdentify holds the warm start's share of finding out who compiles
// to some milliseconds; BenchmarkIdentify has the figure.
func TestTimingOfIdentify(t *testing.T) {
	timing.Only(t)
	d := device(t)
	if _, err := d.Identify(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for range 100 {
		if _, err := d.Identify(); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start) / 100; took > 5*time.Millisecond {
		t.Errorf("identifying a device takes %v", took)
	}
}

func init() {
	children["changed variables"] = changedVariablesChild
	children["identity"] = func() error {
		d, err := firstDevice("POCL")
		if err != nil {
			return err
		}
		id, err := d.Identify()
		if err != nil {
			return err
		}
		fmt.Print(id.Digest())
		return nil
	}
}

// TestIdentityIsThatOfOneDriver shows that what another driver has loaded, such
// as Intel's another LLVM, is not in PoCL's identity.
func TestIdentityIsThatOfOneDriver(t *testing.T) {
	t.Parallel()
	if !exists(intelICD) {
		t.Fatalf("no %s: apt-get install intel-opencl-icd", intelICD)
	}
	id, err := device(t).Identify()
	if err != nil {
		t.Fatal(err)
	}
	got := child(t, "identity", "OCL_ICD_VENDORS="+filepath.Dir(intelICD), "NEOReadDebugKeys=1", "SetCommandStreamReceiver=1", "ProductFamilyOverride=tgllp")
	if !strings.HasSuffix(got, id.Digest().String()) {
		t.Errorf("identity %s beside Intel's driver, %v alone", got, id.Digest())
	}
}
