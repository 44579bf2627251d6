package kernstash

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/tiered"
)

// fakeProgram and fakeKernel are live objects whose releases are watched.
type fakeProgram struct {
	rt      *fakeRuntime
	code    string
	loaded  bool
	devices []int
	dir     string // where it was built, where that counts
}

type fakeKernel struct {
	program *fakeProgram
	name    string
}

// fakeRuntime is a runtime that forces the faults and races which a driver
// only shows on a bad day.
type fakeRuntime struct {
	t        testing.TB
	devices  []key.Device
	size     int                                       // of each binary
	took     time.Duration                             // that a build sleeps
	deferred bool                                      // no artifact before a launch
	build    func(ctx context.Context, job Job) error  // may fail, nil: never does
	load     func(job Job, a *store.Artifact) error    // likewise
	kernel   func(p *fakeProgram, name string) error   // likewise
	capture  func(variants []string, again bool) error // likewise

	noBinary    bool                            // a build gives no artifact
	delegates   bool                            // a worker can make its captures
	identifying func()                          // during Identify
	releasing   func()                          // during ReleaseProgram
	loading     func(ctx context.Context) error // during Load

	mu        sync.Mutex
	builds    []string
	loads     int
	captures  [][]string
	live      map[*fakeProgram]bool
	kernels   map[*fakeKernel]bool
	maxLive   int
	variables []key.Pair

	variablesErr error

	search []*deps.Search // of each device; nil: not known, nothing is expanded
}

func newFake(t testing.TB) *fakeRuntime {
	return &fakeRuntime{
		t:       t,
		devices: []key.Device{{API: "fake", Platform: "P", Name: "N", Version: "1", Driver: "1"}},
		size:    100,
		live:    make(map[*fakeProgram]bool),
		kernels: make(map[*fakeKernel]bool),
	}
}

func (f *fakeRuntime) Delegates() bool { return f.delegates }

func (f *fakeRuntime) Devices() int { return len(f.devices) }

func (f *fakeRuntime) Identify(_ context.Context, d int) (key.Device, error) {
	if f.identifying != nil {
		f.identifying()
	}
	if f.devices[d].API == "" {
		return key.Device{}, errors.New("unidentifiable")
	}
	return f.devices[d], nil
}

func (f *fakeRuntime) CheckOptions(_ int, words []string) error {
	if slices.Contains(words, "-unsure") {
		return errors.New("the fake is not sure of -unsure")
	}
	return nil
}

func (f *fakeRuntime) Variables(int) ([]key.Pair, error) { return f.variables, f.variablesErr }

func (f *fakeRuntime) HeaderSearch(d int, _ string, _ Request) (deps.Search, error) {
	if d >= len(f.search) || f.search[d] == nil {
		return deps.Search{}, errors.New("the fake does not say where it looks")
	}
	return *f.search[d], nil
}

// source is what the fake compiles: with the header files in it, as a compiler
// sees them at that moment.
func (f *fakeRuntime) source(job Job) string {
	src := string(job.Recipe.Image.Units()[0].Code)
	if d := job.Devices[0]; d < len(f.search) && f.search[d] != nil {
		return expand(src, "", append(includeDirs(job.Recipe.Options.CompileString()), f.search[d].System...))
	}
	return src
}

func (f *fakeRuntime) Defers(Job) bool { return f.deferred }

func (f *fakeRuntime) Build(ctx context.Context, job Job) (*fakeProgram, *store.Artifact, error) {
	src := f.source(job)
	f.mu.Lock()
	f.builds = append(f.builds, src)
	f.mu.Unlock()
	time.Sleep(f.took)
	if f.build != nil {
		err := f.build(ctx, job)
		if unfit := new(UnfitError); errors.As(err, &unfit) {
			return f.add(&fakeProgram{rt: f, code: src, devices: job.Devices, dir: job.Recipe.Image.Units()[0].Dir}), nil, err
		}
		if err != nil {
			return nil, nil, err
		}
	}
	p := f.add(&fakeProgram{rt: f, code: src, devices: job.Devices, dir: job.Recipe.Image.Units()[0].Dir})
	if f.deferred || f.noBinary {
		return p, nil, nil
	}
	return p, f.artifact(src, nil), nil
}

func (f *fakeRuntime) artifact(code string, variants []string) *store.Artifact {
	data := append([]byte(code), make([]byte, f.size)...)[:max(f.size, len(code))]
	if f.search != nil {
		data = []byte(code)
	}
	form := store.FormFinal
	if f.deferred {
		form = store.FormDeferred
	}
	return &store.Artifact{
		Binaries: []store.Binary{{Form: form, Data: data}},
		Log:      "warning: " + code, Kernels: []store.Kernel{{Name: "k"}}, Variants: variants,
	}
}

func (f *fakeRuntime) Load(ctx context.Context, job Job, a *store.Artifact) (*fakeProgram, error) {
	if f.loading != nil {
		if err := f.loading(ctx); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	f.loads++
	f.mu.Unlock()
	if f.load != nil {
		if err := f.load(job, a); err != nil {
			return nil, err
		}
	}
	src := string(job.Recipe.Image.Units()[0].Code)
	if f.search != nil {
		src = string(a.Binaries[0].Data) // tests look at it
	}
	if got := string(a.Binaries[0].Data[:len(src)]); got != src {
		f.t.Errorf("wrong binary: %q for %q", got, src)
	}
	return f.add(&fakeProgram{rt: f, code: src, loaded: true, devices: job.Devices, dir: job.Recipe.Image.Units()[0].Dir}), nil
}

func (f *fakeRuntime) add(p *fakeProgram) *fakeProgram {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[p] = true
	f.maxLive = max(f.maxLive, len(f.live))
	return p
}

func (f *fakeRuntime) Kernel(p *fakeProgram, name string) (*fakeKernel, error) {
	if f.kernel != nil {
		if err := f.kernel(p, name); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.live[p] {
		f.t.Error("kernel made of a released program")
	}
	k := &fakeKernel{p, name}
	f.kernels[k] = true
	return k, nil
}

func (f *fakeRuntime) ReleaseProgram(p *fakeProgram) {
	if f.releasing != nil {
		f.releasing()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.live[p] {
		f.t.Error("program released twice")
	}
	for k := range f.kernels {
		if k.program == p {
			f.t.Error("program released before its kernel")
		}
	}
	delete(f.live, p)
}

func (f *fakeRuntime) ReleaseKernel(k *fakeKernel) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.kernels[k] {
		f.t.Error("kernel released twice")
	}
	delete(f.kernels, k)
}

func (f *fakeRuntime) Capture(_ context.Context, job Job, p *fakeProgram, variants []string, again bool) (*store.Artifact, error) {
	f.mu.Lock()
	if !f.live[p] {
		f.t.Error("capture of a released program")
	}
	f.captures = append(f.captures, variants)
	f.mu.Unlock()
	if f.capture != nil {
		if err := f.capture(variants, again); err != nil {
			return nil, err
		}
	}
	return f.artifact(p.code, variants), nil
}

func (f *fakeRuntime) counts() (builds, loads, live, kernels int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.builds), f.loads, len(f.live), len(f.kernels)
}

func (f *fakeRuntime) wantBuilds(want int) {
	f.t.Helper()
	if got, _, _, _ := f.counts(); got != want {
		f.t.Errorf("%d builds, want %d: %q", got, want, f.builds)
	}
}

// openCache opens a cache on root ("": no store) that tests close
// themselves or leave to the test's end.
func openCache(t testing.TB, root string, change ...func(*Options)) *Cache {
	t.Helper()
	o := Options{Dir: root, NoDisk: root == "", ConfigFile: emptyConfig(t)}
	if o.NoDisk {
		o.Mode = settings.ModeReadOnly
	}
	for _, f := range change {
		f(&o)
	}
	c, err := openOn(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// openOn is Open with the store that d makes.
func openOn(d func(disk.Options) cache.Disk, o Options) (*Cache, error) {
	own := o.cache()
	own.Disk = d
	c, err := cache.Open(own)
	return (*Cache)(c), err
}

// onDisk returns the store on disk that a cache writes.
func onDisk(c *Cache) *disk.Store {
	if s, ok := c.cache().Store().(*tiered.Store); ok {
		return s.Near.(*disk.Store)
	}
	return c.cache().Store().(*disk.Store)
}

// emptyConfig keeps the settings file of whoever runs the tests out. Close has time enough
// on a machine with other work.
func emptyConfig(t testing.TB) string {
	t.Helper()
	return writeFile(t, filepath.Join(t.TempDir(), "config.json"), `{"close-timeout": "3m"}`)
}

func newRoot(t testing.TB) string { return filepath.Join(t.TempDir(), "root") }

func image(t testing.TB, src string) *Image {
	t.Helper()
	m, err := NewImage(key.OpenCLC, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

type (
	fakeContext = Context[*fakeProgram, *fakeKernel]
	fakeHandle  = Program[*fakeProgram, *fakeKernel]
)

func fakeContextOn(c *Cache, f *fakeRuntime) *fakeContext {
	return NewContext(c, f, ContextOptions{})
}

// use asks for a program and gives it back.
func use(t testing.TB, x *fakeContext, r Request) Origin {
	t.Helper()
	p, err := x.Program(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	return p.Origin()
}

func wantStats(t testing.TB, c *Cache, want map[stats.Counter]int64) {
	t.Helper()
	got := c.Stats()
	for counter, n := range want {
		if got[counter] != n {
			t.Errorf("%v = %d, want %d", counter, got[counter], n)
		}
	}
}

func src(i int) string { return fmt.Sprintf("kernel void k%d() {}", i) }

func (f *fakeRuntime) captured() [][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.captures
}
