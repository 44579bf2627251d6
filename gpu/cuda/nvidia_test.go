//go:build !nogpu

package cuda_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
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

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/cuda"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

// onlyNVIDIA skips a test, and says so, where there is no GPU to run it on.
func onlyNVIDIA(t testing.TB) {
	t.Helper()
	if !onNVIDIA() {
		t.Skipf("NOT TESTED HERE: needs NVIDIA hardware; set %s=1 there", nvidiaVariable)
	}
}

//go:embed testdata/digests.cu
var digestsSource []byte

// workload is a program with kernels to launch and numbers to check.
type workload struct {
	request rtc.Request
	check   func(x *cuda.Context, k kernels) error
}

// kernels gives a kernel by its name expression.
type kernels func(name string) (*cuda.Kernel, error)

const maxRounds = 5

var workloads = map[string]workload{
	"saxpy": {
		rtc.Request{Source: []byte(saxpySource), Expressions: []string{"saxpy<float>"}}, checkSaxpy,
	},
	"digests": {
		rtc.Request{Source: digestsSource, Expressions: digestNames()}, checkDigests,
	},
}

func digestNames() (names []string) {
	for r := 1; r <= maxRounds; r++ {
		names = append(names, fmt.Sprintf("digests<%d>", r))
	}
	return names
}

// checkSaxpy computes 2x + y.
func checkSaxpy(c *cuda.Context, k kernels) error {
	const n = 1000
	x, y, got := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i] = float32(i), float32(3*i)
	}
	saxpy, err := k("saxpy<float>")
	if err != nil {
		return err
	}
	a, err := c.NewMemory(4 * n)
	if err != nil {
		return err
	}
	b, err := c.NewMemory(4 * n)
	if err != nil {
		return err
	}
	s := c.DefaultStream()
	err = errors.Join(
		s.Write(a, 0, cuda.Bytes(x)), s.Write(b, 0, cuda.Bytes(y)),
		saxpy.Launch(s, []int{(n + 255) / 256}, []int{256}, float32(2), a, b, int32(n)),
		s.Read(b, 0, cuda.Bytes(got)), a.Release(), b.Release())
	for i, v := range got {
		if err == nil && v != float32(5*i) {
			err = fmt.Errorf("y[%d] = %v, want %d", i, v, 5*i)
		}
	}
	return err
}

// checkDigests computes SHA-256 over and over.
func checkDigests(c *cuda.Context, k kernels) error {
	const n = 128
	for r := 1; r <= maxRounds; r++ {
		var sent, want [n][sha256.Size]byte
		words := make([]uint32, 8*n)
		for i := range sent {
			sent[i] = sha256.Sum256([]byte{byte(i), byte(r)})
			want[i] = sent[i]
			for range r {
				want[i] = sha256.Sum256(want[i][:])
			}
			for j := range 8 {
				words[8*i+j] = binary.BigEndian.Uint32(sent[i][4*j:])
			}
		}
		digests, err := k(fmt.Sprintf("digests<%d>", r))
		if err != nil {
			return err
		}
		m, err := c.NewMemory(4 * len(words))
		if err != nil {
			return err
		}
		s := c.DefaultStream()
		err = errors.Join(s.Write(m, 0, cuda.Bytes(words)), digests.Launch(s, []int{n / 32}, []int{32}, m),
			s.Read(m, 0, cuda.Bytes(words)), m.Release())
		if err != nil {
			return err
		}
		for i := range want {
			var got [sha256.Size]byte
			for j := range 8 {
				binary.BigEndian.PutUint32(got[4*j:], words[8*i+j])
			}
			if got != want[i] {
				return fmt.Errorf("digests<%d>, %d: %x, want %x", r, i, got, want[i])
			}
		}
	}
	return nil
}

// TestNVIDIAPrograms: both architectures' ways compute what they should, cold and
// warm, and the log of the real driver is there.
func TestNVIDIAPrograms(t *testing.T) {
	onlyNVIDIA(t)
	for name, w := range workloads {
		for _, arch := range []string{"", "virtual"} {
			t.Run(strings.TrimSpace(name+" "+arch), func(t *testing.T) {
				root := privateDir(t)
				for i := range 2 {
					cache, x, done := openCached(t, root, cuda.CachedOptions{})
					r := w.request
					want := counted{Builds: 1}
					if arch != "" {
						r.Options = []string{"--gpu-architecture=" + x.Device().Capability.VirtualArch()}
						want.Builds = 2
					}
					if i > 0 {
						want = counted{Hits: want.Builds}
					}
					begin := time.Now()
					p, err := x.Compile(t.Context(), r)
					if err != nil {
						t.Fatal(err)
					}
					took := time.Since(begin)
					m, err := p.Native(0)
					if err == nil {
						err = w.check(x.Context, m.Kernel)
					}
					if err != nil {
						t.Error(err)
					}
					if got := countsOf(cache); got != want {
						t.Errorf("process %d counted %+v, want %+v; %s", i, got, want, p.UncacheableReason())
					}
					names, err := m.KernelNames()
					t.Logf("%v in %v; kernels %v, %v", p.Origin(), took, names, err)
					if l := m.Linked(); l != nil && l.UncacheableReason() != "" {
						t.Errorf("the driver's part is not stored: %s", l.UncacheableReason())
					}
					p.Release()
					done()
				}
			})
		}
	}
}

// TestNVIDIADriver: who the driver says that it is.
func TestNVIDIADriver(t *testing.T) {
	onlyNVIDIA(t)
	d := device(t)
	id, err := d.Identify()
	if err != nil {
		t.Fatal(err)
	}
	driver, err := cuda.TheDriver()
	t.Logf("%s, %s, %v, driver %v at %s (%v)", d.Name, d.Capability, d.Limits, driver, driver.Library, err)
	t.Logf("identity %v %v %v", id, id.Traits, id.Compiler)
	for _, want := range []string{"libcuda", "libnvidia-ptxjitcompiler"} {
		if !slices.ContainsFunc(id.Compiler, func(p key.Pair) bool { return strings.HasPrefix(p.Name, want) }) {
			t.Errorf("%s is not among the compilers: %v", want, id.Compiler)
		}
	}
	if d.Limits.WarpSize != 32 || d.Limits.BlockThreads < 512 || d.Limits.Memory < 1<<30 || d.UUID == "" || d.PCI == "" {
		t.Errorf("device %+v", d)
	}
	l := nvrtc(t)
	major, minor := l.Version()
	nid, err := l.Identify()
	t.Logf("NVRTC %d.%d at %s: %v, %v; architecture %s", major, minor, l.Path(), nid.Compiler, err, d.Arch(l))
}

// TestNVIDIAModules: a cubin, PTX, several units of PTX, broken PTX, a cubin for
// another GPU, parameters and resources.
func TestNVIDIAModules(t *testing.T) {
	onlyNVIDIA(t)
	_, x, done := openCached(t, privateDir(t), cuda.CachedOptions{LinkOptions: "-v"})
	defer done()
	l := nvrtc(t)
	compile := func(arch string) *rtc.Output {
		o, err := l.Compile(rtc.Request{
			Source:  []byte("__constant__ float c[4]; extern \"C\" __global__ void k(float *p, int n, char b) { p[n] = b + c[n]; }"),
			Options: []string{"-arch=" + arch},
		})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	c := x.Device().Capability
	cubin, _ := compile(c.Arch()).Get(rtc.CUBIN)
	text, _ := compile(c.VirtualArch()).Get(rtc.PTX)
	for name, code := range map[string][]byte{"cubin": cubin, "PTX": text, "PTX without its NUL": bytes.TrimRight(text, "\x00")} {
		m, err := x.LoadModule(code)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		k, err := m.Kernel("k")
		if err != nil {
			t.Fatal(err)
		}
		sizes, told := k.Params()
		if want := []int{8, 4, 1}; !told || !slices.Equal(sizes, want) {
			t.Errorf("%s: parameters %v, %v", name, sizes, told)
		}
		p := memory(t, x.Context, 16)
		if err := k.Launch(nil, []int{1}, []int{1}, p, int32(0)); !errors.Is(err, cuda.ErrArgument) {
			t.Errorf("%s: too few arguments: %v", name, err)
		}
		if err := errors.Join(k.Launch(nil, []int{1}, []int{1}, p, int32(1), int8(42)), x.Synchronize()); err != nil {
			t.Error(err)
		}
		got := make([]float32, 4)
		if err := x.DefaultStream().Read(p, 0, cuda.Bytes(got)); err != nil || got[1] != 42 {
			t.Errorf("%s: computed %v, %v", name, got[1], err)
		}
		at, size, err := m.Variable("c")
		if err != nil || at == 0 || size != 16 {
			t.Errorf("%s: variable at %x, %d bytes, %v", name, at, size, err)
		}
		r, err := k.Resources()
		if err != nil || r.Registers == 0 || r.Binary != 10*c.Major+c.Minor {
			t.Errorf("%s: resources %+v, %v", name, r, err)
		}
		released(t, m)
	}
	if got := cuda.Entries(cubin); len(got) != 1 || got[0].Name != "k" {
		t.Errorf("kernels of the cubin: %v", got)
	}
	var e *kernstash.BuildError
	if _, err := x.LoadModule([]byte(".version 8.0\n.target sm_80\nnonsense\n")); !errors.As(err, &e) || e.Log == "" {
		t.Errorf("broken PTX: %v", err)
	}
	broken, err := kernstash.NewImage(key.PTX, []byte(".version 8.0\n.target sm_80\nnonsense\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Program(t.Context(), kernstash.Request{Image: broken}); !errors.As(err, &e) || e.Log == "" {
		t.Errorf("broken PTX, linked: %v", err)
	}
	if other, ok := compile("sm_80").Get(rtc.CUBIN); ok && c.Major != 8 {
		if _, err := x.LoadModule(other); !errors.Is(err, cuda.NoBinaryForGPU) {
			t.Errorf("a cubin for sm_80: %v", err)
		}
	}
	units := func(source string) key.Unit {
		o, err := l.Compile(rtc.Request{Source: []byte(source), Options: []string{"-arch=" + c.VirtualArch(), "-rdc=true"}})
		if err != nil {
			t.Fatal(err)
		}
		code, _ := o.Get(rtc.PTX)
		return key.Unit{Kind: key.PTX, Code: bytes.TrimRight(code, "\x00")}
	}
	both, err := kernstash.NewImageSet(
		units("extern __device__ int f(int); extern \"C\" __global__ void g(int *p) { *p = f(20); }"),
		units("__device__ int f(int n) { return n + 1; }"))
	if err != nil {
		t.Fatal(err)
	}
	k, err := x.Kernel(t.Context(), kernstash.Request{Image: both}, "g")
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	p, got := memory(t, x.Context, 4), []int32{0}
	if err := errors.Join(k.Native().Launch(nil, []int{1}, []int{1}, p), x.DefaultStream().Read(p, 0, cuda.Bytes(got))); err != nil || got[0] != 21 {
		t.Errorf("two units computed %d, %v", got[0], err)
	}
}

// started is what one process of TestNVIDIAStarts says.
type started struct {
	Compiles int           // calls of NVRTC and of the driver's compiler
	Total    time.Duration // of the whole, from looking for devices on, to those numbers
	Program  time.Duration // from the request to the loaded module
	Result   time.Duration // from the request to numbers that are right
}

const (
	workloadVariable = "KERNSTASH_TEST_WORKLOAD"
	archVariable     = "KERNSTASH_TEST_ARCH"
)

func init() {
	children["start"] = startChild
	children["start-plain"] = startPlainChild
	children["start-ptx"] = startPTXChild
}

// startWith runs a workload; f makes the module. It measures from when the
// context is there.
func startWith(open func(*cuda.Device) (*cuda.Context, error), f func(*cuda.Context, *started, rtc.Request) (*cuda.Module, error)) error {
	var s started
	w := workloads[os.Getenv(workloadVariable)]
	begin := time.Now()
	devices, err := cuda.Devices()
	if err != nil {
		return err
	}
	c, err := open(devices[0])
	if err != nil {
		return err
	}
	r := w.request
	r.Options = []string{"--gpu-architecture=" + devices[0].Capability.Arch()}
	if os.Getenv(archVariable) == "virtual" {
		r.Options = []string{"--gpu-architecture=" + devices[0].Capability.VirtualArch()}
	}
	m, err := f(c, &s, r)
	if err != nil {
		return err
	}
	loaded := time.Now()
	if err := w.check(c, m.Kernel); err != nil {
		return err
	}
	s.Result, s.Total = s.Program+time.Since(loaded), time.Since(begin)
	return json.NewEncoder(os.Stdout).Encode(s)
}

// startChild is an application of this package.
func startChild() error {
	cache, err := kernstash.Open(kernstash.Options{Dir: os.Getenv(rootVariable), CloseTimeout: 3 * time.Minute})
	if err != nil {
		return err
	}
	defer cache.Close()
	var x *cuda.Cached
	return startWith(func(d *cuda.Device) (_ *cuda.Context, err error) {
		if x, err = cuda.NewContext(cache, d); err != nil {
			return nil, err
		}
		_, err = x.NVRTC()
		return x.Context, err
	}, func(c *cuda.Context, s *started, r rtc.Request) (*cuda.Module, error) {
		begin := time.Now()
		p, err := x.Compile(context.Background(), r)
		if err != nil {
			return nil, err
		}
		s.Program = time.Since(begin)
		s.Compiles = int(cache.Stats().Get(stats.Builds))
		return p.Native(0)
	})
}

// startPlainChild is an application without a cache.
func startPlainChild() error {
	return startWith(cuda.Open, func(c *cuda.Context, s *started, r rtc.Request) (*cuda.Module, error) {
		l, err := rtc.Open(rtc.NVRTC, "")
		if err != nil {
			return nil, err
		}
		begin := time.Now()
		o, err := l.Compile(r)
		if err != nil {
			return nil, err
		}
		s.Compiles = 1
		code, ok := o.Get(rtc.CUBIN)
		if !ok {
			code, _ = o.Get(rtc.PTX)
			s.Compiles++
		}
		if to := os.Getenv("KERNSTASH_TEST_PTX"); to != "" {
			if err := writeLowered(to, code, o); err != nil {
				return nil, err
			}
		}
		m, err := loadLowered(c, code, o.LoweredNames())
		s.Program = time.Since(begin)
		return m, err
	})
}

// startPTXChild is an application that has its PTX at hand: what is left is the
// driver's compiler, or the driver's own cache.
func startPTXChild() error {
	return startWith(cuda.Open, func(c *cuda.Context, s *started, r rtc.Request) (*cuda.Module, error) {
		b, err := os.ReadFile(os.Getenv("KERNSTASH_TEST_PTX"))
		if err != nil {
			return nil, err
		}
		var kept lowered
		if err := json.Unmarshal(b, &kept); err != nil {
			return nil, err
		}
		s.Compiles = 1
		begin := time.Now()
		m, err := loadLowered(c, kept.Code, kept.Names)
		s.Program = time.Since(begin)
		return m, err
	})
}

// lowered is code with its names, as a file.
type lowered struct {
	Code  []byte
	Names []rtc.Lowered
}

func writeLowered(to string, code []byte, o *rtc.Output) error {
	b, err := json.Marshal(lowered{code, o.LoweredNames()})
	return errors.Join(err, os.WriteFile(to, b, 0o600))
}

func loadLowered(c *cuda.Context, code []byte, names []rtc.Lowered) (*cuda.Module, error) {
	m, err := c.LoadModule(code)
	if err != nil {
		return nil, err
	}
	cuda.SetNames(m, names)
	return m, nil
}

// TestNVIDIAStarts measures what a process pays for its program, and shows a table.
// Each figure is the median of several processes; each process checks its numbers.
func TestNVIDIAStarts(t *testing.T) {
	onlyNVIDIA(t)
	const times = 5
	measure := func(n int, name string, env func(i int) []string) (median started) {
		var all []started
		for i := range n {
			var s started
			if err := json.Unmarshal([]byte(child(t, name, env(i)...)), &s); err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		slices.SortFunc(all, func(a, b started) int { return cmp.Compare(a.Program, b.Program) })
		return all[len(all)/2]
	}
	for _, name := range []string{"saxpy", "digests"} {
		dir := t.TempDir()
		ptx, driver := filepath.Join(dir, "ptx"), filepath.Join(dir, "driver")
		off, on := "CUDA_CACHE_DISABLE=1", "CUDA_CACHE_DISABLE=0"
		base := []string{workloadVariable + "=" + name, "KERNSTASH_DIR=", "CUDA_CACHE_MAXSIZE=4294967296"}
		fixed := func(more ...string) func(int) []string {
			return func(int) []string { return append(slices.Clone(base), more...) }
		}
		virtual := archVariable + "=virtual"
		root := func(kind string) string { return rootVariable + "=" + filepath.Join(dir, kind) }
		fresh := func(more ...string) func(int) []string {
			return func(i int) []string { return append(fixed(more...)(i), root(fmt.Sprint("cold", i, len(more)))) }
		}
		fmt.Printf("\n| %s | compiled | request to module, ms | to right numbers, ms | from the start, ms |\n|---|--:|--:|--:|--:|\n", name)
		row := func(what string, s started) started {
			ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
			fmt.Printf("| %s | %d | %.2f | %.2f | %.0f |\n", what, s.Compiles, ms(s.Program), ms(s.Result), ms(s.Total))
			return s
		}
		n := times
		plain := row("NVRTC to machine code, no cache", measure(min(n, 3), "start-plain", fixed(off)))
		row("NVRTC to PTX, and the driver's compiler, no cache", measure(min(n, 3), "start-plain", fixed(off, virtual, "KERNSTASH_TEST_PTX="+ptx)))
		row("PTX at hand: the driver's compiler, its cache off", measure(min(n, 3), "start-ptx", fixed(off, "KERNSTASH_TEST_PTX="+ptx)))
		warming := fixed(on, "CUDA_CACHE_PATH="+driver, "KERNSTASH_TEST_PTX="+ptx)
		measure(1, "start-ptx", warming)
		own := row("PTX at hand: the driver's own cache, warm", measure(n, "start-ptx", warming))
		// The driver keeps what it makes of PTX, which NVRTC makes anew in each process.
		row("NVRTC to PTX, and the driver's own cache, warm", measure(min(n, 3), "start-plain", fixed(on, virtual, "CUDA_CACHE_PATH="+driver)))
		row("kernstash, empty, to machine code", measure(min(n, 3), "start", fresh(off)))
		row("kernstash, empty, to PTX and on", measure(min(n, 3), "start", fresh(off, virtual)))
		measure(1, "start", fixed(off, root("real")))
		measure(1, "start", fixed(off, virtual, root("virtual")))
		hit := row("kernstash, warm, to machine code", measure(n, "start", fixed(off, root("real"))))
		linked := row("kernstash, warm, to PTX and on", measure(n, "start", fixed(off, virtual, root("virtual"))))
		for what, s := range map[string]started{"machine code": hit, "PTX": linked} {
			if s.Compiles != 0 {
				t.Errorf("%s, warm, to %s: %d compiles", name, what, s.Compiles)
			}
		}
		fmt.Printf("\n%s: a hit is %.0f × faster than compiling, and takes %.2f of the driver's own cache with PTX at hand\n", name,
			float64(plain.Program)/float64(hit.Program), float64(hit.Program)/float64(own.Program))
	}
}

// TestNVIDIAProcessesTogether: eight at once on a cold key compile once.
func TestNVIDIAProcessesTogether(t *testing.T) {
	onlyNVIDIA(t)
	const n = 8
	root := rootVariable + "=" + filepath.Join(t.TempDir(), "root")
	var mu sync.Mutex
	compiles := 0
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			var s started
			out := child(t, "start", root, "KERNSTASH_DIR=", workloadVariable+"=digests", "CUDA_CACHE_DISABLE=1")
			if err := json.Unmarshal([]byte(out), &s); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			compiles += s.Compiles
		})
	}
	all.Wait()
	fmt.Printf("\n%d processes started at once on one cold key: %d compile\n", n, compiles)
	if compiles != 1 {
		t.Errorf("%d compiles", compiles)
	}
}
