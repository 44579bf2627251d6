//go:build linux && !nogpu

package build_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/opencl/job"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
	"github.com/kernstash/kernstash/worker/build"
)

// These tests run on PoCL. This test binary is also what they start: an
// application, a worker, and the builders of a worker.
const withoutOpenCL = "KERNSTASH_TEST_NO_OPENCL"

var bg = context.Background()

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if run, ok := roles[os.Args[1]]; ok {
			os.Exit(run(os.Args[2:]))
		}
	}
	if os.Getenv(withoutOpenCL) == "1" {
		fmt.Println("OPENCL IS NOT TESTED:", withoutOpenCL, "is set")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var builders = map[string]build.Do{"opencl": job.Do}

// roles are what this binary is besides a test, by its first argument.
var roles = map[string]func(args []string) int{
	"builder": func(args []string) int { return build.Main(disk.New(disk.Options{Dir: args[0]}), builders) },
	"crash": func([]string) int {
		fmt.Fprintln(os.Stderr, "LLVM ERROR: out of ideas")
		_ = killMyself()
		select {}
	},
	"hang": func([]string) int { select {} },
	"spin": func(args []string) int {
		return build.Main(disk.New(disk.Options{Dir: args[0]}), map[string]build.Do{
			"opencl": func(context.Context, *disk.Store, *spool.Job, string) spool.Outcome {
				for n := 0; ; n++ {
					_ = n
				}
			},
		})
	},
	"idle": func(args []string) int {
		return build.Main(disk.New(disk.Options{Dir: args[0]}), map[string]build.Do{"opencl": spinIfIdle})
	},
	"signal": func([]string) int { // Go tells of it in many lines
		fmt.Fprintln(os.Stderr, "LLVM ERROR: no idea")
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(syscall.SIGABRT)
		}
		select {}
	},
	"silent": func([]string) int { return 0 },
	"late builder": func(args []string) int { // begins when the files of its job are gone
		dir, err := os.Getwd()
		for err == nil {
			time.Sleep(time.Millisecond)
			_, err = os.Stat(dir)
		}
		return build.Main(disk.New(disk.Options{Dir: args[0]}), builders)
	},
	"long": func(args []string) int {
		_ = os.WriteFile("pid", fmt.Append(nil, os.Getpid(), "\n"), 0o600)
		time.AfterFunc(10*time.Minute, func() { os.Exit(3) })
		return build.Main(disk.New(disk.Options{Dir: args[0]}), map[string]build.Do{
			"opencl": func(ctx context.Context, s *disk.Store, j *spool.Job, dir string) spool.Outcome {
				time.Sleep(10 * time.Minute)
				return job.Do(ctx, s, j, dir)
			},
		})
	},
	"report":      reportRole,
	"application": application,
	"worker":      workerRole,
}

func killMyself() error {
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return p.Kill()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const icd = "/etc/OpenCL/vendors/pocl.icd"

// environ is the environment of an application of these tests, which captures
// nothing itself.
func environ(cache string, more ...string) []string {
	return append([]string{
		"OCL_ICD_VENDORS=" + icd, "HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH"), "POCL_CACHE_DIR=" + cache,
		"KERNSTASH_CAPTURE_QUIET=1h", "GORACE=atexit_sleep_ms=0",
	}, more...)
}

// source is what the applications launch. heavy, with the same kernels, is work enough for LLVM
// that a cold start takes its usual tenths of a second.
const source = `
kernel void smooth(global float *out) { out[get_global_id(0)] += 0.5f; }
kernel void clear(global float *out) { out[get_global_id(0)] = 0; }`

const heavy = `
kernel void smooth(global float *out)
{
	size_t i = get_global_id(0);
	float sum = out[i];
	for (int d = 0; d < 4; d++)
		sum += native_exp(-0.5f * d) + sin(sum * d) - atan2(sum, 1.0f + d);
	out[i] = sum;
}
kernel void clear(global float *out) { out[get_global_id(0)] = 0; }`

// request is what the application asks for.
type request struct {
	Root    string
	Source  string
	Options string
	Local   int // 0: the driver chooses
	Global  int
	Spool   bool // record a job as the layer does, and capture nothing
	Close   bool // close the library at the end, which has no time to capture
}

// answer is what the application says.
type answer struct {
	Origin   kernstash.Origin
	Took     time.Duration // from the request to the end of the first launch
	Launch   time.Duration // the first launch alone
	Compiled int           // work-group functions that the driver made for the launch
	Key      key.Key
	Variant  string
}

// application asks the library for a program, launches it once, and says how long
// that took.
func application(args []string) int {
	var q request
	err := json.Unmarshal([]byte(args[0]), &q)
	var a answer
	if err == nil {
		a, err = apply(q)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(a)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "application:", err)
		return 1
	}
	return 0
}

func device() (*opencl.Device, error) {
	devices, err := opencl.Devices(opencl.AnyType)
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		if d.Platform().Suffix == "POCL" {
			return d, nil
		}
	}
	return nil, errors.New("no PoCL: apt-get install pocl-opencl-icd ocl-icd-libopencl1, or set " + withoutOpenCL + "=1")
}

func apply(q request) (a answer, err error) {
	d, err := device()
	if err != nil {
		return a, err
	}
	c, err := opencl.Open(d)
	if err != nil {
		return a, err
	}
	queue, err := c.NewQueue(d, opencl.QueueOptions{})
	if err != nil {
		return a, err
	}
	b, err := c.NewBuffer(opencl.ReadWrite, 4*q.Global)
	if err != nil {
		return a, err
	}
	cache, err := kernstash.Open(kernstash.Options{Dir: q.Root, Starter: worker.ForCache})
	if err != nil {
		return a, err
	}
	image, err := kernstash.NewImage(key.OpenCLC, []byte(q.Source))
	if err != nil {
		return a, err
	}
	x := opencl.NewCached(cache, c, opencl.CachedOptions{})
	begin := time.Now()
	p, err := x.Program(bg, kernstash.Request{Image: image, CompileOptions: q.Options, Attributes: attributes})
	if err != nil {
		return a, err
	}
	built := time.Since(begin)
	k, err := p.Kernel(bg, "smooth")
	if err != nil {
		return a, err
	}
	var local []int
	a.Variant = fmt.Sprintf("smooth/auto-%d-1-1-goffs0-smallgrid", q.Global)
	if q.Local > 0 {
		local = []int{q.Local}
		a.Variant = fmt.Sprintf("smooth/%d-1-1-goffs0-smallgrid", q.Local)
	}
	unpacked := compiled()
	launch := time.Now()
	if err := errors.Join(k.Launch(queue, []int{q.Global}, local, b), queue.Finish()); err != nil {
		return a, err
	}
	a.Launch, a.Took = time.Since(launch), time.Since(begin)
	a.Origin, a.Compiled = p.Origin(), compiled()-unpacked
	a.Key = (*kernstash.Program[*opencl.Program, *opencl.Kernel])(p).Key(0)
	if q.Spool {
		return a, record(q, a, d, image, built)
	}
	if q.Close {
		var dropped *kernstash.DroppedError
		err := errors.Join(x.Close(), cache.Close())
		if !errors.As(err, &dropped) {
			return a, fmt.Errorf("close: %w, nothing was dropped", err)
		}
	}
	return a, nil // else it ends without, as applications do that know nothing of us
}

// record adds a job as the layer does: with the recipe that the library made.
func record(q request, a answer, d *opencl.Device, image *kernstash.Image, cost time.Duration) error {
	r, err := recipeOf(q, d, image)
	if err != nil {
		return err
	}
	if r.Key() != a.Key {
		return fmt.Errorf("the recipe's key is %v, the library's %v", r.Key().Short(), a.Key.Short())
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	s := disk.New(disk.Options{Dir: q.Root})
	defer s.Close()
	_, err = spool.Add(bg, s, spool.Job{
		Kind: spool.Capture, Recipe: r, Variants: []string{a.Variant}, Cost: cost,
		Environment: spool.Take(os.Environ(), r, dir),
		Log:         "the log that it saw\n", HasLog: true, Headers: headersOf(r),
	}, nil)
	return err
}

// compiled counts the work-group functions in PoCL's directory.
func compiled() (n int) {
	_ = filepath.WalkDir(os.Getenv("POCL_CACHE_DIR"), func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".so") {
			n++
		}
		return nil
	})
	return n
}

// isWarm looks at a start after a cold one: PoCL unpacks what is in the binary, and makes
// nothing besides.
func isWarm(t testing.TB, cold, warm answer) {
	t.Helper()
	if warm.Origin != kernstash.Disk || warm.Compiled != 0 || cold.Compiled == 0 {
		t.Errorf("origin %v, the driver made %d work-group functions; the cold start: %v, %d", warm.Origin, warm.Compiled, cold.Origin, cold.Compiled)
	}
}

// start runs an application in a directory of its own.
func start(t testing.TB, q request, more ...string) answer {
	t.Helper()
	return startIn(t, t.TempDir(), q, more...)
}

func startIn(t testing.TB, dir string, q request, more ...string) answer {
	t.Helper()
	text, err := json.Marshal(q)
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, "application", string(text))
	cmd.Env = environ(t.TempDir(), more...)
	cmd.Dir = dir
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("application: %v\n%s", err, failed.String())
	}
	var a answer
	must(t, json.Unmarshal(out, &a))
	return a
}

func open(t testing.TB, root string) *disk.Store {
	t.Helper()
	s := disk.New(disk.Options{Dir: root})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// options are those of a worker of these tests, with the role of its builders.
func options(t testing.TB, s *disk.Store, role string) worker.Options {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	return worker.Options{
		Store: s, Command: []string{self, role, s.Dir()}, Once: true, Recorder: new(stats.Counters),
		// Other tests want the processor too, and never leave any of it.
		NormalPriority: true,
	}
}

// work runs a worker in this process until there is nothing to do.
func work(t testing.TB, o worker.Options) worker.Status {
	t.Helper()
	st, err := worker.Run(bg, o)
	must(t, err)
	return st
}

// TestTimingWarmStart: a start from what a worker built takes a fifth of the cold one's
// time, the fastest of five.
func TestTimingWarmStart(t *testing.T) {
	timing.Only(t)
	q := request{Source: heavy, Options: "-DA=1", Local: 64, Global: 256, Root: newDir(t), Spool: true}
	cold := start(t, q)
	work(t, options(t, open(t, q.Root), "builder"))
	q.Spool = false
	var took []time.Duration
	for range 5 {
		took = append(took, start(t, q).Took)
	}
	if slices.Min(took) > cold.Took/5 {
		t.Errorf("the warm starts took %v, the cold one %v", took, cold.Took)
	}
}

// TestSecondStartIsWarm: what an application launched and nobody captured, a
// worker builds; then the same application compiles nothing. The short form has the launch of
// which the driver chooses the local size; the other one is TestAfterADriverUpdate's.
func TestSecondStartIsWarm(t *testing.T) {
	for _, q := range []request{
		{Source: source, Options: "-DA=1", Local: 64, Global: 256},
		{Source: source, Global: 1000},
	} {
		if q.Local > 0 && !timing.IsLong() {
			continue
		}
		q.Root = newDir(t)
		q.Spool = true
		cold := start(t, q)
		s := open(t, q.Root)
		o := options(t, s, "builder")
		begin := time.Now()
		st := work(t, o)
		if st.Done != 1 || st.Waiting != 0 || st.Refused+st.Kept != 0 {
			t.Fatalf("worker: %+v", st)
		}
		t.Logf("the worker took %v, %v of the processor", time.Since(begin), st.CPU)
		e, err := s.Get(bg, cold.Key)
		must(t, err)
		if a := e.Artifact; a.Binaries[0].Form != store.FormDeferred || a.Log != "the log that it saw\n" || !slices.Equal(a.Variants, []string{cold.Variant}) {
			t.Errorf("form %v, log %q, variants %v", a.Binaries[0].Form, a.Log, a.Variants)
		}
		q.Spool = false
		warm := start(t, q)
		t.Logf("%s: cold %v (first launch %v), warm %v (%v)", cold.Variant, cold.Took, cold.Launch, warm.Took, warm.Launch)
		isWarm(t, cold, warm)
		r, err := s.Verify(bg, false, nil)
		must(t, err)
		if len(r.Problems) > 0 {
			t.Errorf("problems: %v", r.Problems)
		}
		if left, _ := os.ReadDir(filepath.Join(q.Root, ".meta/work")); len(left) > 0 {
			t.Errorf("left in the worker's directory: %v", left)
		}
	}
}

// TestWithoutLaunches: a program that was built and not launched is stored as it
// is, and bettered once it is launched.
func TestWithoutLaunches(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	s := newRoot(t)
	j := handMade(t, small)
	add(t, s, j)
	if st := work(t, options(t, s, "builder")); st.Done != 1 || st.Refused+st.Kept != 0 {
		t.Fatalf("worker: %+v", st)
	}
	e, err := s.Get(bg, j.Key())
	must(t, err)
	if a := e.Artifact; a.Binaries[0].Form != store.FormDeferred || len(a.Variants) != 0 || len(a.Kernels) != 1 {
		t.Errorf("form %v, variants %v, kernels %v", a.Binaries[0].Form, a.Variants, a.Kernels)
	}
	add(t, s, j)
	if st := work(t, options(t, s, "builder")); st.Last[0].State != "there" {
		t.Errorf("again: %+v", st.Last)
	}
	j.Variants = []string{smallVariant}
	add(t, s, j)
	if st := work(t, options(t, s, "builder")); st.Last[0].State != "stored" {
		t.Errorf("launched: %+v", st.Last)
	}
	e, err = s.Get(bg, j.Key())
	must(t, err)
	if diff := cmp.Diff(j.Variants, e.Artifact.Variants); diff != "" {
		t.Error(diff)
	}
}

// TestLaunchesWithoutCode: a program of whose launches the driver makes code for none is
// stored as one that was not launched, and the same launches ask for nothing more.
func TestLaunchesWithoutCode(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	for _, v := range []string{"other/64-1-1-goffs0-smallgrid", "sum/auto-0-1-1-goffs0-smallgrid"} {
		s := newRoot(t)
		j := handMade(t, small, v)
		add(t, s, j)
		if st := work(t, options(t, s, "builder")); st.Done != 1 || st.Refused+st.Kept != 0 {
			t.Errorf("%s: worker: %+v", v, st)
		}
		e, err := s.Get(bg, j.Key())
		must(t, err)
		if a := e.Artifact; a.Binaries[0].Form != store.FormDeferred || len(a.Variants) != 0 || len(a.Kernels) != 1 {
			t.Errorf("%s: form %v, variants %v, kernels %v", v, a.Binaries[0].Form, a.Variants, a.Kernels)
		}
		j.Stored = true // as the application finds it from then on
		if res, err := spool.Add(bg, s, j, nil); err != nil || res != spool.Refused {
			t.Errorf("%s, again: %v, %v", v, res, err)
		}
	}
}

// TestUnionOfLaunches: a later job adds to what is stored, and one that asks for
// nothing new does nothing.
func TestUnionOfLaunches(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	q := request{Root: newDir(t), Source: source, Local: 64, Global: 256, Spool: true}
	a := start(t, q)
	s := open(t, q.Root)
	work(t, options(t, s, "builder"))
	var want []string
	want = append(want, a.Variant)
	for _, local := range []int{32, 64} {
		q.Local = local
		if v := start(t, q).Variant; !slices.Contains(want, v) {
			want = append(want, v)
		}
		st := work(t, options(t, s, "builder"))
		if st.Done != 1 {
			t.Errorf("local size %d: %+v", local, st)
		}
		if state := st.Last[0].State; local == 64 && state != "there" {
			t.Errorf("the second time it is %q", state)
		}
	}
	e, err := s.Get(bg, a.Key)
	must(t, err)
	slices.Sort(want)
	if diff := cmp.Diff(want, e.Artifact.Variants); diff != "" {
		t.Error(diff)
	}
}
