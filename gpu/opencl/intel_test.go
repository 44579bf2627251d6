//go:build !nogpu

package opencl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

func init() {
	children["intel"] = intelChild
	children["intel debugged"] = intelDebuggedChild
	children["intel own cache"] = intelOwnCacheChild
}

// intelICD is where Debian's intel-opencl-icd registers itself.
const intelICD = "/etc/OpenCL/vendors/intel.icd"

// intel starts a child on Intel's driver, which compiles for a product that is
// not there when its debug keys say so. It writes .aub files into the working
// directory, a scratch one here.
func intel(t *testing.T, product string) (out intelResult) {
	t.Helper()
	if !exists(intelICD) {
		t.Fatalf("no %s: apt-get install intel-opencl-icd, or set %s=1 to go without", intelICD, withoutOpenCL)
	}
	module, err := filepath.Abs("testdata/scale.spv")
	if err != nil {
		t.Fatal(err)
	}
	text := child(t, "intel", "OCL_ICD_VENDORS="+intelICD, "NEOReadDebugKeys=1", "SetCommandStreamReceiver=1",
		"ProductFamilyOverride="+product, moduleVariable+"="+module)
	// The driver writes to standard output too.
	_, text, _ = strings.Cut(text, resultMark)
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return out
}

const (
	moduleVariable = "KERNSTASH_TEST_MODULE"
	resultMark     = "\nresult:"
)

// intelResult is what the child found: builds by name, and the device.
type intelResult struct {
	Device    key.Device
	Variables []key.Pair
	Kind      string
	Builds    map[string]intelBuild
	Identify  time.Duration
}

type intelBuild struct {
	Key      string
	Artifact *store.Artifact
	Took     time.Duration
	Load     time.Duration
}

func intelChild() error {
	ctx := context.Background()
	d, err := firstDevice("INTEL")
	if err != nil {
		return err
	}
	begin := time.Now()
	id, err := d.Identify()
	if err != nil {
		return err
	}
	out := intelResult{Device: id, Variables: d.Variables(), Kind: d.Kind().String(), Builds: map[string]intelBuild{}, Identify: time.Since(begin)}
	c, err := opencl.Open(d)
	if err != nil {
		return err
	}
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	code, err := os.ReadFile(os.Getenv(moduleVariable))
	if err != nil {
		return err
	}
	module, err := key.NewImage(key.SPIRV, code)
	if err != nil {
		return err
	}
	text, err := key.NewImage(key.OpenCLC, []byte(addSource))
	if err != nil {
		return err
	}
	for _, b := range []struct {
		name      string
		image     *key.Image
		constants []key.SpecConstant
	}{
		{"plain", module, nil},
		{"5", module, []key.SpecConstant{key.Uint32(7, 5)}},
		{"5 again", module, []key.SpecConstant{key.Uint32(7, 5)}},
		{"9", module, []key.SpecConstant{key.Uint32(7, 9)}},
		{"9 and odd", module, []key.SpecConstant{key.Bool(9, true), key.Uint32(7, 9)}},
		{"source", text, nil},
	} {
		constants, err := key.NewConstants(b.constants...)
		if err != nil {
			return err
		}
		j := kernstash.Job{Devices: []int{0}, Recipe: &key.Recipe{Device: id, Image: b.image, Constants: constants}}
		begin := time.Now()
		p, a, err := r.Build(ctx, j)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		result := intelBuild{Key: j.Recipe.Key().String(), Artifact: a, Took: time.Since(begin)}
		begin = time.Now()
		restored, err := r.Load(ctx, j, a)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		result.Load = time.Since(begin)
		if err := errors.Join(restored.Release(), p.Release()); err != nil {
			return err
		}
		out.Builds[b.name] = result
	}
	unknown := kernstash.Job{Devices: []int{0}, Recipe: &key.Recipe{Device: id, Image: module, Constants: key.Constants{key.Uint32(1234, 1)}}}
	var refused *kernstash.BuildError
	if _, _, err := r.Build(ctx, unknown); !errors.As(err, &refused) {
		return fmt.Errorf("a constant that the module has not: %w, want a BuildError", err)
	}
	fmt.Print(resultMark)
	return json.NewEncoder(os.Stdout).Encode(out)
}

func TestSpecializationConstantsOnIntel(t *testing.T) {
	t.Parallel()
	r := intel(t, "tgllp")
	b := r.Builds
	for name, x := range b {
		if x.Artifact == nil || len(x.Artifact.Binaries) != 1 || x.Artifact.Binaries[0].Form != store.FormFinal {
			t.Fatalf("%s: artifact %v", name, x.Artifact)
		}
		t.Logf("%s: build %v, load %v, %d bytes", name, x.Took, x.Load, x.Artifact.Size())
	}
	binary := func(name string) string { return string(b[name].Artifact.Binaries[0].Data) }
	for _, x := range []struct {
		a, b  string
		equal bool
	}{
		{"5", "5 again", true}, {"plain", "5", false}, {"5", "9", false}, {"9", "9 and odd", false},
	} {
		if got := b[x.a].Key == b[x.b].Key; got != x.equal {
			t.Errorf("keys of %q and %q equal: %v", x.a, x.b, got)
		}
		if got := binary(x.a) == binary(x.b); got != x.equal {
			t.Errorf("binaries of %q and %q equal: %v", x.a, x.b, got)
		}
	}
	if k := b["5"].Artifact.Kernels; len(k) != 1 || k[0].Name != "scale" {
		t.Errorf("kernels %v", k)
	}
	if k := b["source"].Artifact.Kernels; len(k) != 1 || k[0].Name != "add" || len(k[0].Args) != 4 && len(k[0].Args) != 0 {
		t.Errorf("kernels %v", k)
	}
}

func TestIntelIdentity(t *testing.T) {
	t.Parallel()
	r := intel(t, "tgllp")
	t.Logf("identified in %v", r.Identify)
	if r.Kind != "final" {
		t.Errorf("kind %s", r.Kind)
	}
	for _, want := range []string{"libigdrcl.so", "libigc.so", "libigdfcl.so", "libopencl-clang.so", "libLLVM"} {
		if !hasPair(r.Device.Compiler, want) {
			t.Errorf("%s is not among the compilers: %v", want, r.Device.Compiler)
		}
	}
	for _, want := range []string{"device id", "IP version", "stepping"} {
		if !hasPair(r.Device.Traits, want) {
			t.Errorf("%q is not among the traits: %v", want, r.Device.Traits)
		}
	}
	want := []key.Pair{{Name: "NEOReadDebugKeys", Value: "1"}, {Name: "ProductFamilyOverride", Value: "tgllp"}, {Name: "SetCommandStreamReceiver", Value: "1"}}
	if diff := cmp.Diff(want, r.Variables); diff != "" {
		t.Error(diff)
	}
	other := intel(t, "skl")
	if other.Device.Digest() == r.Device.Digest() {
		t.Errorf("two products have one identity: %v", r.Device)
	}
	if other.Builds["5"].Key == r.Builds["5"].Key {
		t.Error("two products have one key")
	}
}

// debuggerCode is the interface of libigfxdbgxchg64.so, as far as NEO 22.43 needs it to take a
// debugger for active.
const debuggerCode = `
int init(void *data) { return 0; }
int isDebuggerActive(void) { return ACTIVE; }
int notifyNewDevice(void *data) { return 0; }
int notifySourceCode(void *data) { return 0; }
int getDebuggerOption(void *data) { return 0; }
int notifyKernelDebugData(void *data) { return 0; }
int notifyDeviceDestruction(void *data) { return 0; }
`

// While a debugger is active Intel's driver makes a debug build of everything.
func TestIntelsDriverUnderADebuggerIsNotCached(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := filepath.Join(dir, "debugger.c")
	put(t, source, debuggerCode)
	for _, c := range []struct{ active, want string }{{"1", "the driver compiles for a debugger"}, {"0", "<nil>"}} {
		own := filepath.Join(dir, c.active)
		put(t, filepath.Join(own, "note"), "")
		out, err := exec.Command("cc", "-shared", "-fPIC", "-DACTIVE="+c.active, "-o", filepath.Join(own, "libigfxdbgxchg64.so"), source).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got := child(t, "intel debugged", "LD_LIBRARY_PATH="+own, "OCL_ICD_VENDORS="+intelICD, "NEOReadDebugKeys=1",
			"SetCommandStreamReceiver=1", "ProductFamilyOverride=tgllp")
		if !strings.Contains(got, c.want) {
			t.Errorf("active %s: %q, want %q", c.active, got, c.want)
		}
	}
}

func intelDebuggedChild() error {
	d, err := firstDevice("INTEL")
	if err != nil {
		return err
	}
	_, err = d.Identify()
	fmt.Print(err)
	return nil
}

// What Intel's driver answers out of a cache of its own, which knows nothing of "#  include", is
// not stored: neither what an older header made, nor a binary without its intermediate code.
func TestAnswersOfIntelsOwnCacheAreNotStored(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cl_cache")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	want := func(root, want string) {
		t.Helper()
		got := child(t, "intel own cache", rootVariable+"="+root, "OCL_ICD_VENDORS="+intelICD, "NEOReadDebugKeys=1", "SetCommandStreamReceiver=1",
			"ProductFamilyOverride=tgllp", "cl_cache_dir="+dir)
		if _, got, _ = strings.Cut(got, resultMark); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	first := filepath.Join(t.TempDir(), "root")
	want(first, "0 found, 1 stored") // and the driver's cache has it, too
	want(first, "1 found, 0 stored")
	want(filepath.Join(t.TempDir(), "root"), "0 found, 0 stored")
}

func intelOwnCacheChild() error {
	d, err := firstDevice("INTEL")
	if err != nil {
		return err
	}
	cache, c, _, done, err := openCached(os.Getenv(rootVariable), d)
	if err != nil {
		return err
	}
	image, err := kernstash.NewImage(key.OpenCLC, []byte(addSource))
	if err != nil {
		return err
	}
	p, err := c.Program(context.Background(), kernstash.Request{Image: image})
	if err != nil {
		return err
	}
	p.Release()
	if err := done(); err != nil {
		return err
	}
	s := cache.Stats()
	fmt.Print(resultMark, s.Get(stats.DiskHits), " found, ", s.Get(stats.DiskPuts), " stored")
	return nil
}
