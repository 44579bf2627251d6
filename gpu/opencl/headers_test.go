//go:build !nogpu

package opencl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

func init() {
	children["search"] = searchChild
	children["headers"] = headersChild
}

const platformVariable = "KERNSTASH_TEST_PLATFORM"

// intelEnvironment makes Intel's driver work without its hardware, up to the
// binary.
func intelEnvironment(t *testing.T) []string {
	t.Helper()
	if !exists(intelICD) {
		t.Fatalf("no %s: apt-get install intel-opencl-icd, or set %s=1 to go without", intelICD, withoutOpenCL)
	}
	return []string{
		"OCL_ICD_VENDORS=" + intelICD, "NEOReadDebugKeys=1", "SetCommandStreamReceiver=1",
		"ProductFamilyOverride=tgllp", platformVariable + "=INTEL", "NEO_CACHE_PERSISTENT=0",
	}
}

// searchChild puts a header of one name in every directory that a driver may
// look into, and takes away the one that the driver took until none is left. It
// writes who took which: the driver by a kernel's name, and Track.
func searchChild() error {
	d, err := firstDevice(os.Getenv(platformVariable))
	if err != nil {
		return err
	}
	c, err := opencl.Open(d)
	if err != nil {
		return err
	}
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	s, err := r.HeaderSearch(0, dir, kernstash.Request{})
	if err != nil {
		return err
	}
	s.Dir = dir
	var lines []string
	for _, name := range []string{`"kernstash_h.h"`, "<kernstash_h.h>"} {
		places := map[string]string{
			"cwd": dir, "one": dir + "/one", "two": dir + "/two", "include": dir + "/include",
			"cache": os.Getenv("POCL_CACHE_DIR"), "unnamed": dir + "/unnamed",
		}
		for place, path := range places {
			if path == "" {
				delete(places, place)
				continue
			}
			content := fmt.Sprintf("kernel void from_%s() {}\n", place)
			if err := errors.Join(os.MkdirAll(path, 0o700), os.WriteFile(path+"/kernstash_h.h", []byte(content), 0o600)); err != nil {
				return err
			}
		}
		unit := key.Unit{Kind: key.OpenCLC, Code: []byte("#include " + name + "\n")}
		for len(places) > 0 {
			const options = "-I one -Itwo"
			t, reason := deps.Track(unit, key.Tokens(options), s)
			if !reason.None() {
				return errors.New(reason.String())
			}
			tracked := "nothing"
			if len(t.Unit.Files) > 0 {
				tracked = t.Unit.Files[0].Path
			}
			img, err := key.NewImage(unit.Kind, unit.Code)
			if err != nil {
				return err
			}
			rec := &key.Recipe{Image: img, Options: key.NewOptions(options, "")}
			p, _, err := r.Build(context.Background(), kernstash.Job{Devices: []int{0}, Recipe: rec})
			var refused *kernstash.BuildError
			if errors.As(err, &refused) {
				lines = append(lines, fmt.Sprintf("%s nothing %s", name, tracked))
				break
			}
			if err != nil {
				return err
			}
			names, err := p.KernelNames()
			if err != nil || len(names) != 1 {
				return fmt.Errorf("kernels %q, %w", names, err)
			}
			place, _ := strings.CutPrefix(names[0], "from_")
			if tracked == filepath.Join(places[place], "kernstash_h.h") {
				tracked = place
			}
			lines = append(lines, fmt.Sprintf("%s %s %s", name, place, tracked))
			if err := errors.Join(p.Release(), os.Remove(places[place]+"/kernstash_h.h")); err != nil {
				return err
			}
			delete(places, place)
		}
	}
	fmt.Print(resultMark)
	return json.NewEncoder(os.Stdout).Encode(lines)
}

// What is found by tracking is what the driver finds, in its order, directory by
// directory.
func TestHeaderSearch(t *testing.T) {
	t.Parallel()
	pocl := []string{platformVariable + "=POCL", "POCL_CACHE_DIR=" + t.TempDir()}
	for name, test := range map[string]struct {
		env  []string
		want []string
	}{
		"PoCL": {pocl, []string{
			`"kernstash_h.h" cache cache`, `"kernstash_h.h" cwd cwd`, `"kernstash_h.h" one one`, `"kernstash_h.h" two two`, `"kernstash_h.h" nothing nothing`,
			`<kernstash_h.h> cwd cwd`, `<kernstash_h.h> one one`, `<kernstash_h.h> two two`, `<kernstash_h.h> nothing nothing`,
		}},
		"Intel": {intelEnvironment(t), []string{
			`"kernstash_h.h" cwd cwd`, `"kernstash_h.h" one one`, `"kernstash_h.h" two two`, `"kernstash_h.h" include include`, `"kernstash_h.h" nothing nothing`,
			`<kernstash_h.h> one one`, `<kernstash_h.h> two two`, `<kernstash_h.h> cwd cwd`, `<kernstash_h.h> include include`, `<kernstash_h.h> nothing nothing`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "Intel" {
				test.env = append(test.env, "POCL_CACHE_DIR=")
			}
			_, out, _ := strings.Cut(child(t, "search", test.env...), resultMark)
			var got []string
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatalf("%v in %q", err, out)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("header, who the driver took, who was tracked (-want +got):\n%s", diff)
			}
		})
	}
}

// headersApplication is what headersChild writes.
type headersApplication struct {
	Value   int32 // that the kernel wrote; -1 where nothing can be launched
	Kernels []string
	Key     string
	Against string
	Took    time.Duration
	Stats   stats.Snapshot
}

const treeVariable = "KERNSTASH_TEST_TREE"

// headersChild is an application whose kernel reads headers of a directory.
func headersChild() error {
	ctx := context.Background()
	// Every application runs in the same directory: it is part of what a
	// compiler sees.
	if err := os.Chdir(filepath.Dir(os.Getenv(rootVariable))); err != nil {
		return err
	}
	d, err := firstDevice(os.Getenv(platformVariable))
	if err != nil {
		return err
	}
	cache, err := kernstash.Open(kernstash.Options{Dir: os.Getenv(rootVariable), CloseTimeout: 3 * time.Minute})
	if err != nil {
		return err
	}
	c, err := opencl.NewContext(cache, d)
	if err != nil {
		return err
	}
	image, err := kernstash.NewImage(key.OpenCLC, []byte("#include <a.h>\nkernel void NAME(global int *p) { p[0] = VALUE; }\n"))
	if err != nil {
		return err
	}
	tree := os.Getenv(treeVariable)
	begin := time.Now()
	p, err := c.Program(ctx, kernstash.Request{Image: image, CompileOptions: "-I " + tree + "/early -I" + tree + "/late"})
	if err != nil {
		return err
	}
	a := headersApplication{Value: -1, Took: time.Since(begin), Against: p.UncacheableReason()}
	native, err := p.Native(0)
	if err != nil {
		return err
	}
	if a.Kernels, err = native.KernelNames(); err != nil {
		return err
	}
	slices.Sort(a.Kernels)
	if os.Getenv(platformVariable) == "POCL" {
		if a.Value, err = launchOne(ctx, c, p, a.Kernels[0]); err != nil {
			return err
		}
	}
	p.Release()
	if err := errors.Join(c.Close(), cache.Close()); err != nil {
		return err
	}
	a.Stats = cache.Stats()
	fmt.Print(resultMark)
	return json.NewEncoder(os.Stdout).Encode(a)
}

// launchOne runs a kernel and returns what it wrote.
func launchOne(ctx context.Context, c *opencl.Cached, p *opencl.CachedProgram, name string) (int32, error) {
	q, err := c.NewQueue(c.Devices()[0], opencl.QueueOptions{})
	if err != nil {
		return 0, err
	}
	b, err := c.NewBuffer(opencl.ReadWrite, 4)
	if err != nil {
		return 0, err
	}
	k, err := p.Kernel(ctx, name)
	if err != nil {
		return 0, err
	}
	got := make([]int32, 1)
	err = errors.Join(k.Launch(q, []int{1}, []int{1}, b), q.Read(b, 0, opencl.Bytes(got)))
	k.Release()
	return got[0], errors.Join(err, b.Release(), q.Finish(), q.Release())
}

// An application whose kernels include header files starts warm, and never gets
// what was built from other ones: on drivers as they are.
func TestHeadersThroughTheCache(t *testing.T) {
	t.Parallel()
	for platform, env := range map[string][]string{
		"POCL":  {platformVariable + "=POCL", "POCL_CACHE_DIR=" + t.TempDir()},
		"INTEL": intelEnvironment(t),
	} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			if platform == "POCL" {
				timing.Long(t)
			}
			root, tree := filepath.Join(t.TempDir(), "root"), t.TempDir()
			put := func(name, content string) {
				t.Helper()
				path := filepath.Join(tree, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			against := ""
			run := func(what string, value int32, kernel string, builds int64) headersApplication {
				t.Helper()
				_, out, _ := strings.Cut(child(t, "headers", append(slices.Clone(env), rootVariable+"="+root, treeVariable+"="+tree, "KERNSTASH_DIR=")...), resultMark)
				var a headersApplication
				if err := json.Unmarshal([]byte(out), &a); err != nil {
					t.Fatalf("%v in %q", err, out)
				}
				if platform == "POCL" && a.Value != value || len(a.Kernels) != 1 || a.Kernels[0] != kernel {
					t.Errorf("%s: %d by %q, want %d by %s", what, a.Value, a.Kernels, value, kernel)
				}
				if n := a.Stats[stats.Builds]; n != builds || a.Against != against {
					t.Errorf("%s: %d builds, want %d; against it: %q", what, n, builds, a.Against)
				}
				t.Logf("%s: %v", what, a.Took)
				return a
			}
			put("late/a.h", "#include \"b.h\"\n")
			put("late/b.h", "#include \"c.h\"\n#define NAME first\n")
			put("late/c.h", "#define VALUE 1\n")
			run("cold", 1, "first", 1)
			if a := run("warm", 1, "first", 0); a.Stats[stats.HeadersChecked] != 1 || a.Stats[stats.HeadersScanned] != 0 {
				t.Errorf("warm: %v", a.Stats)
			}
			put("late/c.h", "#define VALUE 2\n")
			if a := run("three levels deep", 2, "first", 1); a.Stats[stats.Of(reason.NearestHeader)] != 1 {
				t.Errorf("not explained: %v", a.Stats)
			}
			put("early/a.h", "#define VALUE 3\n#define NAME second\n")
			run("earlier on the path", 3, "second", 1)
			if err := os.Remove(filepath.Join(tree, "early/a.h")); err != nil {
				t.Fatal(err)
			}
			put("late/c.h", "#define VALUE 1\n")
			run("as in the beginning", 1, "first", 0)
			moved := t.TempDir()
			if err := os.CopyFS(moved, os.DirFS(tree)); err != nil {
				t.Fatal(err)
			}
			tree = moved
			run("the same elsewhere", 1, "first", 0)
			put("late/b.h", "#include \"c.h\"\n#define NAME first\nconstant char file[] = __FILE__;\n")
			same := int64(0)
			if platform == "POCL" {
				// The source's own file has another name each time.
				same, against = 1, "not cacheable: reads a file (__FILE__, which is another each time)"
			}
			run("paths begin to count", 1, "first", 1)
			run("paths that are the same", 1, "first", same)
			moved = t.TempDir()
			if err := os.CopyFS(moved, os.DirFS(tree)); err != nil {
				t.Fatal(err)
			}
			tree = moved
			run("paths that are not", 1, "first", 1)
		})
	}
}
