//go:build !nogpu

package cuda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/cuda"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

const saxpySource = `
template <class T> __global__ void saxpy(T a, const T *x, T *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = a * x[i] + y[i];
}
`

func saxpy(options ...string) rtc.Request {
	return rtc.Request{Source: []byte(saxpySource), Options: options, Expressions: []string{"saxpy<float>", "saxpy<double>"}}
}

const saxpyFloat = "_Z5saxpyIfEvT_PKS0_PS0_i" // by the Itanium C++ ABI

// counted are the counters that the tests look at.
type counted struct{ Builds, Hits, Refused, NotCacheable int64 }

func countsOf(c *kernstash.Cache) counted {
	s := c.Stats()
	return counted{s.Get(stats.Builds), s.Get(stats.DiskHits), s.Get(stats.Of(reason.MissRefused)), s.Get(stats.Of(reason.NotCacheableRuntime))}
}

func TestRealArchitectureIsOneEntry(t *testing.T) {
	fake(t)
	root, before := privateDir(t), left(t)
	for i, want := range []counted{{Builds: 1}, {Hits: 1}} {
		cache, x, done := openCached(t, root, cuda.CachedOptions{})
		p, err := x.Compile(t.Context(), saxpy())
		if err != nil {
			t.Fatal(err)
		}
		k, err := p.Kernel(t.Context(), "saxpy<float>")
		if err != nil {
			t.Fatal(err)
		}
		m, err := p.Native(0)
		if err != nil || m.LoweredName("saxpy<float>") != saxpyFloat || m.LoweredName("other") != "other" {
			t.Errorf("lowered to %s, %v", m.LoweredName("saxpy<float>"), err)
		}
		if _, err := p.Kernel(t.Context(), "absent"); !errors.Is(err, cuda.NotFound) {
			t.Errorf("an absent kernel: %v", err)
		}
		if m.Linked() != nil || p.UncacheableReason() != "" || p.Key(0).IsZero() {
			t.Errorf("linked %v, against %q, key %v", m.Linked(), p.UncacheableReason(), p.Key(0))
		}
		again, err := x.Compile(t.Context(), saxpy())
		if err != nil {
			t.Fatal(err)
		}
		if n, err := again.Native(0); n != m || err != nil {
			t.Errorf("another module, %v", err)
		}
		again.Release()
		k.Release()
		p.Release()
		if diff := cmp.Diff(want, countsOf(cache)); diff != "" {
			t.Errorf("process %d (-want +got):\n%s", i, diff)
		}
		done()
	}
	if diff := cmp.Diff(before, left(t)); diff != "" {
		t.Errorf("left behind (-before +after):\n%s", diff)
	}
}

// TestVirtualArchitectureIsTwo: NVRTC's PTX under NVRTC's key, and what the driver
// makes of it under the driver's.
func TestVirtualArchitectureIsTwo(t *testing.T) {
	fake(t)
	root, before := privateDir(t), left(t)
	var keys [2][2]key.Key
	for i, want := range []counted{{Builds: 2}, {Hits: 2}} {
		cache, x, done := openCached(t, root, cuda.CachedOptions{LinkOptions: "-O1"})
		p, err := x.Compile(t.Context(), saxpy("-arch=compute_60"))
		if err != nil {
			t.Fatal(err)
		}
		if k, err := p.Kernel(t.Context(), "saxpy<double>"); err != nil {
			t.Error(err)
		} else {
			k.Release()
		}
		m, err := p.Native(0)
		if err != nil {
			t.Fatal(err)
		}
		l := m.Linked()
		if l == nil {
			t.Fatal("the driver linked nothing")
		}
		keys[i] = [2]key.Key{p.Key(0), l.Key(0)}
		if a, b := p.Key(0).Device, l.Key(0).Device; a == b {
			t.Error("NVRTC's identity and the driver's are one")
		}
		if !strings.Contains(m.Log(), "linked") {
			t.Errorf("log %q", m.Log())
		}
		x.Clear() // does not touch what is in use
		if k, err := p.Kernel(t.Context(), "saxpy<float>"); err != nil {
			t.Error(err)
		} else {
			k.Release()
		}
		p.Release()
		if diff := cmp.Diff(want, countsOf(cache)); diff != "" {
			t.Errorf("process %d (-want +got):\n%s", i, diff)
		}
		if n := left(t)["modules"] - before["modules"]; n != 0 {
			t.Errorf("%d modules are left after the last use", n)
		}
		done()
	}
	if keys[0] != keys[1] {
		t.Errorf("keys %v, then %v", keys[0], keys[1])
	}
	if diff := cmp.Diff(before, left(t)); diff != "" {
		t.Errorf("left behind (-before +after):\n%s", diff)
	}
}

// TestOneKeyForAllFrontEnds: what an unchanged application compiled with NVRTC is
// there for this package, and the other way round.
func TestOneKeyForAllFrontEnds(t *testing.T) {
	fake(t)
	root := privateDir(t)
	cache, err := kernstash.Open(kernstash.Options{Dir: root})
	if err != nil {
		t.Fatal(err)
	}
	other := rtc.NewCompiler(cache, nvrtc(t), kernstash.ContextOptions{})
	for _, r := range []rtc.Request{
		saxpy("--gpu-architecture=sm_70"), saxpy("-arch=compute_70", "-DN=1"),
		{Source: []byte(saxpySource), Name: "sub/saxpy.cu", Options: []string{"-arch", "sm_75", "-lineinfo"}},
	} {
		if _, err := other.Compile(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(other.Close(), cache.Close()); err != nil {
		t.Fatal(err)
	}
	cache, x, done := openCached(t, root, cuda.CachedOptions{})
	defer done()
	for _, r := range []rtc.Request{
		saxpy(), saxpy("-arch=compute_70", "-DN=1"),
		{Source: []byte(saxpySource), Name: "sub/saxpy.cu", Options: []string{"-arch", "sm_75", "-lineinfo"}},
	} {
		p, err := x.Compile(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if p.Origin() != kernstash.Disk {
			t.Errorf("%v: from %v, %s", r.Options, p.Origin(), p.UncacheableReason())
		}
		p.Release()
	}
	if diff := cmp.Diff(counted{Builds: 1, Hits: 3}, countsOf(cache)); diff != "" { // the driver's one
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

const ptxSource = ".version 7.8\n.target sm_60\n.address_size 64\n.visible .entry params_8_4(.param .u64 a, .param .u32 b) { ret; }\n"

func ptxImage(t testing.TB, text ...string) *kernstash.Image {
	t.Helper()
	var units []key.Unit
	for _, s := range text {
		units = append(units, key.Unit{Kind: key.PTX, Code: []byte(s)})
	}
	m, err := kernstash.NewImageSet(units...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPTX(t *testing.T) {
	fake(t)
	root := privateDir(t)
	one, two := ptxImage(t, ptxSource), ptxImage(t, ptxSource, strings.ReplaceAll(ptxSource, "params_8_4", "second"))
	requests := []kernstash.Request{{Image: one}, {Image: one, LinkOptions: "-maxrregcount=32"}, {Image: two}}
	for i, want := range []counted{{Builds: 3}, {Hits: 3}} {
		cache, x, done := openCached(t, root, cuda.CachedOptions{})
		if err := x.Preload(t.Context(), requests...); err != nil {
			t.Fatal(err)
		}
		k, err := x.Kernel(t.Context(), requests[2], "second")
		if err != nil {
			t.Fatal(err)
		}
		k.Release()
		if diff := cmp.Diff(want, countsOf(cache)); diff != "" {
			t.Errorf("process %d (-want +got):\n%s", i, diff)
		}
		done()
	}
}

// TestRefusals: what a compiler says of a program is kept, with its log.
func TestRefusals(t *testing.T) {
	fake(t)
	before := left(t)
	_, x, done := openCached(t, privateDir(t), cuda.CachedOptions{})
	for name, f := range map[string]func() (*cuda.CachedProgram, error){
		"undeclared": func() (*cuda.CachedProgram, error) {
			return x.Compile(t.Context(), rtc.Request{Source: []byte("__global__ void k() { undeclared(); }")})
		},
		"CUDA_ERROR_INVALID_PTX": func() (*cuda.CachedProgram, error) {
			return x.Program(t.Context(), kernstash.Request{Image: ptxImage(t, "BROKEN")})
		},
	} {
		var said [2]string
		for i := range said {
			_, err := f()
			var e *kernstash.BuildError
			if !errors.As(err, &e) {
				t.Fatalf("%s: %v, want a BuildError", name, err)
			}
			said[i] = fmt.Sprint(e.Code, e)
		}
		if said[0] != said[1] || !strings.Contains(said[0], name) {
			t.Errorf("%s: two diagnostics: %q", name, said)
		}
	}
	for name, r := range map[string]kernstash.Request{
		"no image":        {},
		"builds no SPIR":  {Image: imageOf(t, key.Unit{Kind: key.SPIRV, Code: []byte("x")})},
		"one unit at a":   {Image: imageOf(t, key.Unit{Kind: key.CUDACpp, Code: []byte("x")}, key.Unit{Kind: key.CUDACpp, Code: []byte("y")})},
		"an image of":     {Image: imageOf(t, key.Unit{Kind: key.CUDACpp, Code: []byte("x")}, key.Unit{Kind: key.PTX, Code: []byte("y")})},
		"driver's compi":  {Image: ptxImage(t, ptxSource), LinkOptions: "-fast"},
		"specialization ": {Image: ptxImage(t, ptxSource), Constants: []key.SpecConstant{key.Uint32(1, 1)}},
	} {
		if _, err := x.Program(t.Context(), r); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := x.Compile(t.Context(), saxpy("-arch=compute_70", "-dlto")); err == nil || !strings.Contains(err.Error(), "LTO IR") {
		t.Errorf("LTO IR: %v", err)
	}
	done()
	if _, err := x.Compile(t.Context(), saxpy()); !errors.Is(err, kernstash.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if diff := cmp.Diff(before, left(t)); diff != "" {
		t.Errorf("left behind (-before +after):\n%s", diff)
	}
}

func imageOf(t testing.TB, units ...key.Unit) *kernstash.Image {
	t.Helper()
	m, err := kernstash.NewImageSet(units...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestFaults: what goes wrong in the driver is told, tried again where that can
// help, and leaves nothing behind.
func TestFaults(t *testing.T) {
	fake(t)
	real, virtual := saxpy("-arch=sm_70"), saxpy("-arch=compute_70")
	tests := []struct {
		name        string
		call        string
		code, times int
		request     rtc.Request
		warm        bool
		want        error // nil: the program works
		says        string
		counts      counted
	}{
		{"no memory for a module, once", "cuModuleLoadDataEx", 2, 1, real, false, nil, "", counted{Builds: 1}},
		{"no memory for a module", "cuModuleLoadDataEx", 2, 9, real, false, kernstash.ErrOutOfResources, "CUDA_ERROR_OUT_OF_MEMORY", counted{Builds: 4}},
		{"no memory for a link, once", "cuLinkComplete", 2, 1, virtual, false, nil, "", counted{Builds: 3}},
		{"a stored cubin is refused", "cuModuleLoadDataEx", 200, 1, real, true, nil, "", counted{Builds: 1, Refused: 1}},
		{"a stored cubin is another GPU's", "cuModuleLoadDataEx", 209, 9, real, true, cuda.NoBinaryForGPU, "architecture", counted{}},
		{"a stored link is refused", "cuModuleLoadDataEx", 200, 1, virtual, true, nil, "", counted{Builds: 1, Hits: 1, Refused: 1}},
		{"a link fails", "cuLinkAddData_v2", 218, 1, virtual, false, cuda.InvalidPTX, "CUDA_ERROR_INVALID_PTX", counted{Builds: 2}},
		{"the driver is too old", "cuLinkAddData_v2", 222, 1, virtual, false, cuda.UnsupportedPTXVersion, "update it", counted{Builds: 2}},
		{"a link cannot begin", "cuLinkCreate_v2", 999, 9, virtual, false, cuda.UnknownError, "cuLinkCreate", counted{Builds: 4}},
		{"a context cannot be current", "cuCtxPushCurrent_v2", 709, 9, real, false, cuda.ContextIsDestroyed, "cuCtxPushCurrent", counted{Builds: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root, before := privateDir(t), left(t)
			if tt.warm {
				_, x, done := openCached(t, root, cuda.CachedOptions{})
				p, err := x.Compile(t.Context(), tt.request)
				if err != nil {
					t.Fatal(err)
				}
				p.Release()
				done()
			}
			cache, x, done := openCached(t, root, cuda.CachedOptions{})
			q, err := x.Request(tt.request)
			if err != nil {
				t.Fatal(err)
			}
			failNext(t, tt.call, tt.code, 0, tt.times)
			p, err := x.Program(t.Context(), q)
			if !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if err == nil {
				p.Release()
			} else if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%q is not in %q", tt.says, err)
			}
			got := countsOf(cache)
			if tt.want != nil && got.Builds <= tt.counts.Builds {
				tt.counts.Builds = got.Builds // how often it is tried is the core's matter
			}
			if diff := cmp.Diff(tt.counts, got); diff != "" {
				t.Errorf("counted (-want +got):\n%s", diff)
			}
			failNext(t, tt.call, 0, 0, 0)
			if tt.want == cuda.NoBinaryForGPU { // others can still use it
				y, err := x.NVRTC()
				if err != nil {
					t.Fatal(err)
				}
				c := rtc.NewCompiler(cache, y, kernstash.ContextOptions{})
				if _, err := c.Compile(t.Context(), tt.request); err != nil || countsOf(cache).Hits != 1 {
					t.Errorf("the entry is gone: %v, %+v", err, countsOf(cache))
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
			done()
			if diff := cmp.Diff(before, left(t)); diff != "" {
				t.Errorf("left behind (-before +after):\n%s", diff)
			}
		})
	}
}

func TestGoroutinesShareOneBuild(t *testing.T) {
	fake(t)
	cache, x, done := openCached(t, privateDir(t), cuda.CachedOptions{})
	q, err := x.Request(saxpy("-arch=compute_70", "-DSHARED"))
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := x.Prepare(q)
	if err != nil {
		t.Fatal(err)
	}
	y, err := x.NewMemory(64)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			p, err := prepared.Program(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			defer p.Release()
			k, err := p.Kernel(context.Background(), "saxpy<float>")
			if err != nil {
				t.Error(err)
				return
			}
			defer k.Release()
			if err := k.Native().Launch(nil, []int{1}, []int{4}, float32(1), y, y, int32(4)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff(counted{Builds: 2}, countsOf(cache)); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
	released(t, y)
	done()
}

func TestMemoryHitsAllocateNothing(t *testing.T) {
	fake(t)
	cache, x, done := openCached(t, privateDir(t), cuda.CachedOptions{})
	defer done()
	q, err := x.Request(saxpy())
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := x.Prepare(q)
	if err != nil {
		t.Fatal(err)
	}
	hit := func() {
		p, err := prepared.Program(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		k, err := p.Kernel(t.Context(), "saxpy<float>")
		if err != nil {
			t.Fatal(err)
		}
		k.Release()
		p.Release()
	}
	hit()
	if !cache.Flush(time.Minute) { // what is stored in the background allocates
		t.Fatal("not stored")
	}
	if n := testing.AllocsPerRun(100, hit); n != 0 {
		t.Errorf("a prepared hit allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		p, err := x.Program(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		p.Release()
	}); n != 0 {
		t.Errorf("a hit allocates %v times", n)
	}
}

// TestHeaderFiles: a header that changes makes another program.
func TestHeaderFiles(t *testing.T) {
	fake(t)
	root, dir := privateDir(t), t.TempDir()
	write := func(n string) {
		if err := os.WriteFile(filepath.Join(dir, "n.h"), []byte("#define N "+n+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := rtc.Request{Source: []byte("#include \"n.h\"\nextern \"C\" __global__ void k(int *p) { *p = N; }"), Options: []string{"-I" + dir}}
	for _, step := range []struct {
		n    string
		want counted
	}{{"1", counted{Builds: 1}}, {"1", counted{Hits: 1}}, {"2", counted{Builds: 1}}, {"1", counted{Hits: 1}}} {
		write(step.n)
		cache, x, done := openCached(t, root, cuda.CachedOptions{})
		p, err := x.Compile(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, countsOf(cache)); diff != "" {
			t.Errorf("N = %s: %s (-want +got):\n%s", step.n, p.UncacheableReason(), diff)
		}
		p.Release()
		done()
	}
}

func init() {
	children["cached"] = cachedChild
	children["whole"] = wholeChild
}

type application struct {
	Took  time.Duration
	Stats stats.Snapshot
	Log   string
}

// cachedChild is an application.
func cachedChild() error {
	cache, err := kernstash.Open(kernstash.Options{Dir: os.Getenv(rootVariable), CloseTimeout: 3 * time.Minute})
	if err != nil {
		return err
	}
	d, err := cuda.Devices()
	if err != nil {
		return err
	}
	x, err := cuda.NewContext(cache, d[0])
	if err != nil {
		return err
	}
	begin := time.Now()
	p, err := x.Compile(context.Background(), saxpy("-arch=compute_70"))
	if err != nil {
		return err
	}
	a := application{Took: time.Since(begin)}
	m, err := p.Native(0)
	if err != nil {
		return err
	}
	a.Log = m.Log()
	p.Release()
	if err := x.Close(); err != nil {
		return err
	}
	a.Stats = cache.Stats()
	return errors.Join(cache.Close(), json.NewEncoder(os.Stdout).Encode(a))
}

func start(t testing.TB, name string, env ...string) (a application) {
	t.Helper()
	if err := json.Unmarshal([]byte(child(t, name, env...)), &a); err != nil {
		t.Error(err)
	}
	return a
}

func TestProcessesTogetherOneBuild(t *testing.T) {
	fake(t)
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	const n = 6
	var mu sync.Mutex
	var builds, hits int64
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			a := start(t, "cached", rootVariable+"="+root, "KERNSTASH_DIR=")
			mu.Lock()
			defer mu.Unlock()
			builds += a.Stats.Get(stats.Builds)
			hits += a.Stats.Get(stats.DiskHits)
		})
	}
	all.Wait()
	if builds != 2 || hits != 2*(n-1) { // NVRTC's, and the driver's
		t.Errorf("%d builds, %d disk hits; want 2 and %d", builds, hits, 2*(n-1))
	}
}

// TestDriverThatDoesNotLink: where it takes PTX alone that goes to it as it is, each time.
func TestDriverThatDoesNotLink(t *testing.T) {
	fake(t)
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	for i, want := range []counted{{Builds: 2, NotCacheable: 1}, {Builds: 1, Hits: 1, NotCacheable: 1}} {
		a := start(t, "cached", "CUDA_FORCE_PTX_JIT=1", rootVariable+"="+root, "KERNSTASH_DIR=")
		s := a.Stats
		got := counted{s.Get(stats.Builds), s.Get(stats.DiskHits), s.Get(stats.Of(reason.MissRefused)), s.Get(stats.Of(reason.NotCacheableRuntime))}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("process %d (-want +got):\n%s", i, diff)
		}
		if a.Log != "ptxas info: compiled" {
			t.Errorf("log %q", a.Log)
		}
	}
}

// wholeChild compiles CUDA C++ without naming an architecture, where the driver
// takes PTX alone.
func wholeChild() error {
	d, err := cuda.Devices()
	if err != nil {
		return err
	}
	l, err := rtc.Open(rtc.NVRTC, "")
	if err != nil {
		return err
	}
	fmt.Println(d[0].Arch(l))
	return nil
}

func init() { children["no nvrtc"] = noNVRTCChild }

// noNVRTCChild is an application that finds no NVRTC: PTX works.
func noNVRTCChild() error {
	cache, err := kernstash.Open(kernstash.Options{NoDisk: true})
	if err != nil {
		return err
	}
	d, err := cuda.Devices()
	if err != nil {
		return err
	}
	x, err := cuda.NewContext(cache, d[0])
	if err != nil {
		return err
	}
	_, err = x.Compile(context.Background(), saxpy())
	fmt.Println(errors.Is(err, rtc.ErrNoLibrary), err)
	image, err := kernstash.NewImage(key.PTX, []byte(ptxSource))
	if err != nil {
		return err
	}
	k, err := x.Kernel(context.Background(), kernstash.Request{Image: image}, "params_8_4")
	if err != nil {
		return err
	}
	k.Release()
	return errors.Join(x.Close(), cache.Close())
}

func TestNoNVRTC(t *testing.T) {
	fake(t)
	t.Parallel()
	dir := t.TempDir() // what is found there under the names of NVRTC is no library
	for _, version := range []string{"", ".13", ".12", ".11.2", ".11.1", ".11.0"} {
		if err := os.WriteFile(filepath.Join(dir, "libnvrtc.so"+version), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := child(t, "no nvrtc", libraryPath(dir))
	for _, want := range []string{"true ", "libnvrtc.so.13", "LD_LIBRARY_PATH"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in %q", want, out)
		}
	}
}

func TestArchitecture(t *testing.T) {
	t.Parallel()
	known := func(all ...int) func() ([]int, error) { return func() ([]int, error) { return all, nil } }
	none := func() ([]int, error) { return nil, rtc.ErrMissing }
	for _, tt := range []struct {
		name       string
		capability cuda.Capability
		known      func() ([]int, error)
		virtual    bool
		want       string
	}{
		{"known", cuda.Capability{Major: 9}, known(80, 89, 90, 100), false, "sm_90"},
		{"a newer GPU", cuda.Capability{Major: 12}, known(80, 89, 90), false, "compute_90"},
		{"between two", cuda.Capability{Major: 8, Minor: 8}, known(80, 87, 90), false, "compute_87"},
		{"an older GPU", cuda.Capability{Major: 3, Minor: 5}, known(75, 80), false, "compute_35"},
		{"an NVRTC that does not tell", cuda.Capability{Major: 7}, none, false, "compute_70"},
		{"a driver that takes PTX alone", cuda.Capability{Major: 9}, known(90), true, "compute_90"},
	} {
		if got := cuda.ArchFor(tt.capability, tt.known, tt.virtual); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if onNVIDIA() {
		return
	}
	for env, want := range map[string]string{"X=": "sm_70\n", "CUDA_FORCE_JIT=1": "compute_70\n", "FAKE_CUDA_SM=121": "compute_90\n"} {
		if out := child(t, "whole", env); out != want {
			t.Errorf("%s: %q, want %q", env, out, want)
		}
	}
}

func TestLinkOptions(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]map[int]int{
		"": {}, "-maxrregcount=32 -O2 --generate-line-info": {0: 32, 7: 2, 13: 1},
		"--maxrregcount 16 -G -v": {0: 16, 11: 1, 12: 1}, "--opt-level=4": {7: 4}, "-maxrregcount": nil, "-O9": nil, "-maxrregcount=0": nil, "x": nil,
	} {
		got, err := cuda.JITOptions(strings.Fields(words))
		if (err != nil) != (want == nil) || want == nil && !errors.Is(err, cuda.ErrArgument) {
			t.Errorf("%q: %v", words, err)
		}
		if diff := cmp.Diff(want, got); diff != "" && want != nil {
			t.Errorf("%q (-want +got):\n%s", words, diff)
		}
	}
}

// TestKernelsOfACubin: the real NVRTC's cubin tells its kernels.
func TestKernelsOfACubin(t *testing.T) {
	t.Parallel()
	o, err := nvrtc(t).Compile(saxpy("-arch=sm_80"))
	if err != nil {
		t.Fatal(err)
	}
	cubin, _ := o.Get(rtc.CUBIN)
	var names []string
	for _, k := range cuda.Entries(cubin) {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"_Z5saxpyIdEvT_PKS0_PS0_i", saxpyFloat}, names); diff != "" {
		t.Errorf("kernels (-want +got):\n%s", diff)
	}
	for _, bad := range [][]byte{nil, cubin[:4], cubin[:100], cubin[:len(cubin)/2]} {
		if k := cuda.Entries(bad); len(k) != 0 {
			t.Errorf("kernels of %d bytes: %v", len(bad), k)
		}
	}
}

// TestUnfit: a program of which nothing may be kept is made all the same, each time anew.
func TestUnfit(t *testing.T) {
	fake(t)
	root := privateDir(t)
	r := rtc.Request{
		Source:  []byte("#line 7 \"other.cu\"\nextern \"C\" __global__ void k(int *p) { *p = 1; }\n"),
		Options: []string{"-lineinfo"},
	}
	for i := range 2 {
		cache, x, done := openCached(t, root, cuda.CachedOptions{})
		p, err := x.Compile(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		k, err := p.Kernel(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		k.Release()
		p.Release()
		if diff := cmp.Diff(counted{Builds: 1, NotCacheable: 1}, countsOf(cache)); diff != "" {
			t.Errorf("process %d (-want +got):\n%s", i, diff)
		}
		done()
	}
}
