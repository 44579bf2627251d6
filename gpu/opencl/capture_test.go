//go:build !nogpu

package opencl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

func init() {
	children["capture"] = captureChild
	children["restore"] = restoreChild
	children["uncached twin"] = uncachedTwinChild
	children["specialize"] = specializeChild
}

// smoothSource is work enough for LLVM that a cold start takes its usual tenths
// of a second.
const smoothSource = `
kernel void smooth(global const float *in, global float *out, local float *tile)
{
	size_t i = get_global_id(0), l = get_local_id(0);
	tile[l] = in[i];
	barrier(CLK_LOCAL_MEM_FENCE);
	float sum = 0;
	for (int d = 0; d < 4; d++)
		sum += tile[(l + d) % get_local_size(0)] * native_exp(-0.5f * d) + sin(tile[l] * d) - atan2(sum, 1.0f + d);
	out[i] = sum;
}
kernel void clear(global float *out) { out[get_global_id(0)] = 0; }`

// rig is what the children work with.
type rig struct {
	c   *opencl.Context
	q   *opencl.Queue
	r   *opencl.Runtime
	job kernstash.Job
	b   *opencl.Buffer
}

func newRig(o opencl.RuntimeOptions) (*rig, error) {
	d, err := firstDevice("POCL")
	if err != nil {
		return nil, err
	}
	id, err := d.Identify()
	if err != nil {
		return nil, err
	}
	g := &rig{}
	if g.c, err = opencl.Open(d); err != nil {
		return nil, err
	}
	g.r = opencl.NewRuntime(g.c, o)
	image, err := key.NewImage(key.OpenCLC, []byte(smoothSource))
	if err != nil {
		return nil, err
	}
	g.job = kernstash.Job{Devices: []int{0}, Recipe: &key.Recipe{Device: id, Image: image, Options: key.BuildOptions{Variables: d.Variables()}}}
	if g.b, err = g.c.NewBuffer(opencl.ReadWrite, 4096); err != nil {
		return nil, err
	}
	g.q, err = g.c.NewQueue(d, opencl.QueueOptions{})
	return g, err
}

// launch runs kernel smooth to its end.
func (g *rig) launch(p *opencl.Program, local int) error {
	k, err := g.r.Kernel(p, "smooth")
	if err != nil {
		return err
	}
	defer g.r.ReleaseKernel(k)
	return errors.Join(k.Launch(g.q, []int{256}, []int{local}, g.b, g.b, opencl.Local(4*local)), g.q.Finish())
}

// start is what a start took, from source or artifact to the first result.
type start struct {
	Took  time.Duration
	First *store.Artifact `json:",omitempty"` // captured after the first local size
	Union *store.Artifact `json:",omitempty"` // captured again, after the second
}

func captureChild() error {
	g, err := newRig(opencl.RuntimeOptions{})
	if err != nil {
		return err
	}
	var out start
	begin := time.Now()
	p, a, err := g.r.Build(context.Background(), g.job)
	if err != nil || a != nil {
		return fmt.Errorf("build: artifact %v, %w", a, err)
	}
	if err := g.launch(p, 64); err != nil {
		return err
	}
	out.Took = time.Since(begin)
	v64, v32 := "smooth/64-1-1-goffs0-smallgrid", "smooth/32-1-1-goffs0-smallgrid"
	if out.First, err = g.r.Capture(context.Background(), g.job, p, []string{v64}, false); err != nil {
		return err
	}
	if err := g.launch(p, 32); err != nil {
		return err
	}
	if out.Union, err = g.r.Capture(context.Background(), g.job, p, []string{v32, v64}, true); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// restoreChild loads the artifact in the file that an environment variable
// names, launches its local sizes, and checks that nothing was compiled.
func restoreChild() error {
	text, err := os.ReadFile(os.Getenv(artifactVariable))
	if err != nil {
		return err
	}
	var a store.Artifact
	if err := json.Unmarshal(text, &a); err != nil {
		return err
	}
	g, err := newRig(opencl.RuntimeOptions{})
	if err != nil {
		return err
	}
	begin := time.Now()
	p, err := g.r.Load(context.Background(), g.job, &a)
	if err != nil {
		return err
	}
	before := compiled()
	for _, v := range a.Variants {
		var local int
		if _, err := fmt.Sscanf(strings.TrimPrefix(v, "smooth/"), "%d-", &local); err != nil {
			return fmt.Errorf("variant %s: %w", v, err)
		}
		if err := g.launch(p, local); err != nil {
			return err
		}
	}
	took := time.Since(begin)
	if after := compiled(); !slices.Equal(before, after) || len(after) == 0 {
		return fmt.Errorf("a restored program was compiled again: %q, then %q", before, after)
	}
	return json.NewEncoder(os.Stdout).Encode(start{Took: took})
}

const artifactVariable = "KERNSTASH_TEST_ARTIFACT"

// compiled returns the work-group functions in PoCL's directory.
func compiled() (files []string) {
	_ = filepath.WalkDir(os.Getenv("POCL_CACHE_DIR"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".so") {
			files = append(files, path)
		}
		return nil
	})
	return files
}

func TestCapturedProgramStartsFastElsewhere(t *testing.T) {
	var cold start
	if err := json.Unmarshal([]byte(child(t, "capture", "POCL_CACHE_DIR="+t.TempDir())), &cold); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		artifact *store.Artifact
		variants []string
	}{
		{"first", cold.First, []string{"smooth/64-1-1-goffs0-smallgrid"}},
		{"union", cold.Union, []string{"smooth/32-1-1-goffs0-smallgrid", "smooth/64-1-1-goffs0-smallgrid"}},
	} {
		if diff := cmp.Diff(c.variants, c.artifact.Variants); diff != "" {
			t.Errorf("%s: variants: %s", c.name, diff)
		}
		if b := c.artifact.Binaries; len(b) != 1 || b[0].Form != store.FormDeferred {
			t.Errorf("%s: %d binaries", c.name, len(b))
		}
		if k := c.artifact.Kernels; len(k) != 2 {
			t.Errorf("%s: kernels %v", c.name, k)
		}
		restored := restore(t, c.artifact)
		t.Logf("%s: cold %v, restored %v, %d bytes", c.name, cold.Took, restored, c.artifact.Size())
		if restored > cold.Took/10 {
			t.Errorf("%s: restored in %v, more than a tenth of %v", c.name, restored, cold.Took)
		}
	}
}

// restore starts a process with an empty PoCL directory, three times, and
// returns the shortest start.
func restore(t *testing.T, a *store.Artifact) time.Duration {
	t.Helper()
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "artifact.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	best := time.Hour
	for range 3 {
		var s start
		out := child(t, "restore", artifactVariable+"="+file, "POCL_CACHE_DIR="+t.TempDir())
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			t.Fatal(err)
		}
		best = min(best, s.Took)
	}
	return best
}

// uncachedTwinChild runs with POCL_KERNEL_CACHE=0: a twin has nothing then.
func uncachedTwinChild() error {
	g, err := newRig(opencl.RuntimeOptions{})
	if err != nil {
		return err
	}
	p, _, err := g.r.Build(context.Background(), g.job)
	if err != nil {
		return err
	}
	if err := g.launch(p, 64); err != nil {
		return err
	}
	variants := []string{"smooth/64-1-1-goffs0-smallgrid"}
	if _, err = g.r.Capture(context.Background(), g.job, p, variants, true); !errors.Is(err, kernstash.ErrNotCacheable) {
		return fmt.Errorf("capture of a twin: %w, want ErrNotCacheable", err)
	}
	a, err := g.r.Capture(context.Background(), g.job, p, variants, false)
	if err != nil || !slices.Equal(a.Variants, variants) {
		return fmt.Errorf("capture of the program itself: %v, %w", a.Variants, err)
	}
	return nil
}

func TestTwinWithoutPoCLsCacheIsNotStored(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	child(t, "uncached twin", "POCL_KERNEL_CACHE=0", "POCL_CACHE_DIR="+t.TempDir())
}

func specializeChild() error {
	g, err := newRig(opencl.RuntimeOptions{SpecializeLocalSizes: [][3]int{{64}, {16, 4, 1}, {64, 1, 1}}})
	if err != nil {
		return err
	}
	_, a, err := g.r.Build(context.Background(), g.job)
	if err != nil {
		return err
	}
	if v, set := os.LookupEnv("POCL_BINARY_SPECIALIZE_WG"); set {
		return fmt.Errorf("the variable is left at %q", v)
	}
	return json.NewEncoder(os.Stdout).Encode(a)
}

func TestLocalSizesAreBuiltWithoutALaunch(t *testing.T) {
	t.Parallel()
	var a store.Artifact
	if err := json.Unmarshal([]byte(child(t, "specialize", "POCL_CACHE_DIR="+t.TempDir())), &a); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"clear/16-4-1-goffs0-smallgrid", "clear/64-1-1-goffs0-smallgrid",
		"smooth/16-4-1-goffs0-smallgrid", "smooth/64-1-1-goffs0-smallgrid",
	}
	if diff := cmp.Diff(want, a.Variants); diff != "" {
		t.Fatal(diff)
	}
	a.Variants = []string{"smooth/64-1-1-goffs0-smallgrid"} // what restoreChild launches
	restore(t, &a)
}

func init() {
	children["unspecialized"] = func() error {
		g, err := newRig(opencl.RuntimeOptions{SpecializeLocalSizes: [][3]int{{64}}})
		if err != nil {
			return err
		}
		p, a, err := g.r.Build(context.Background(), g.job)
		if p == nil || a != nil || err != nil {
			return fmt.Errorf("build: program %v, artifact %v, %w", p, a, err)
		}
		if g.r.Defers(g.job) {
			return errors.New("a launch is awaited, though the local sizes are given")
		}
		return nil
	}
	children["required"] = func() error {
		g, err := newRig(opencl.RuntimeOptions{SpecializeLocalSizes: [][3]int{{64}}})
		if err != nil {
			return err
		}
		m, err := key.NewImage(key.OpenCLC, []byte(`
kernel __attribute__((reqd_work_group_size(8, 8, 1))) void tiles(global int *a) { a[get_global_id(0)] = 1; }
kernel void rows(global int *a) { a[get_global_id(0)] = 2; }`))
		if err != nil {
			return err
		}
		g.job.Recipe = &key.Recipe{Device: g.job.Recipe.Device, Image: m}
		_, a, err := g.r.Build(context.Background(), g.job)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(a)
	}
}

func TestLocalSizesThatAreNotMadeFailNoBuild(t *testing.T) {
	t.Parallel()
	child(t, "unspecialized", "POCL_WORK_GROUP_SPECIALIZATION=0", "POCL_CACHE_DIR="+t.TempDir())
}

func TestKernelsAreMadeForTheSizeTheyRequire(t *testing.T) {
	t.Parallel()
	var a store.Artifact
	if err := json.Unmarshal([]byte(child(t, "required", "POCL_CACHE_DIR="+t.TempDir())), &a); err != nil {
		t.Fatal(err)
	}
	want := []string{"rows/64-1-1-goffs0-smallgrid", "tiles/8-8-1-goffs0-smallgrid"}
	if diff := cmp.Diff(want, a.Variants); diff != "" {
		t.Error(diff)
	}
}

func TestLoadRefusesForeignBinaries(t *testing.T) {
	t.Parallel()
	c := open(t)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	j := job(t, r, key.BuildOptions{}, source(addSource))
	for name, a := range map[string]*store.Artifact{
		"nothing": {},
		"empty":   {Binaries: []store.Binary{{Form: store.FormFinal}}},
		"text":    {Binaries: []store.Binary{{Form: store.FormFinal, Data: []byte(strings.Repeat("no binary of any driver ", 50))}}},
	} {
		if p, err := r.Load(t.Context(), j, a); err == nil {
			released(t, p)
			t.Errorf("%s: loaded", name)
		}
	}
}

func TestLoadChecksTheKernels(t *testing.T) {
	t.Parallel()
	c := open(t)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	j := job(t, r, key.BuildOptions{}, source(addSource))
	p := build(t, r, j)
	a, err := capture(t, r, j, p, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	good, err := r.Load(t.Context(), j, a)
	if err != nil {
		t.Fatal(err)
	}
	released(t, good)
	other := *a
	other.Kernels = []store.Kernel{{Name: "subtract"}}
	if p, err := r.Load(t.Context(), j, &other); err == nil {
		released(t, p)
		t.Error("an artifact of another program was loaded")
	}
}
