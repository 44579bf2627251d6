//go:build !nogpu && linux

package levelzero_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

const rootVariable = "KERNSTASH_TEST_ROOT"

func init() {
	children["several"] = severalChild
	children["one key"] = oneKeyChild
	children["changed variables"] = changedVariablesChild
}

// cached opens a cache in a directory and a context over it.
func cached(dir string) (*kernstash.Cache, *levelzero.Cached, error) {
	cache, err := kernstash.Open(kernstash.Options{Dir: dir})
	if err != nil {
		return nil, nil, err
	}
	d, err := firstDevice()
	if err != nil {
		return nil, nil, err
	}
	x, err := levelzero.NewContext(cache, d)
	return cache, x, err
}

// requests are of every kind that there is.
func requests() (map[string]kernstash.Request, error) {
	all := make(map[string]kernstash.Request)
	for name, r := range map[string]kernstash.Request{
		"kernels":        {},
		"kernels global": {CompileOptions: "-ze-take-global-address"},
		"spills":         {CompileOptions: "-ze-opt-disable"},
		"scale":          {},
		"scale 5":        {Constants: []key.SpecConstant{key.Uint32(7, 5)}},
		"scale 9":        {Constants: []key.SpecConstant{key.Uint32(7, 9)}},
		"images":         {},
		"imports":        {},
	} {
		file, _, _ := strings.Cut(name, " ")
		code, err := readSPIRV(file)
		if err != nil {
			return nil, err
		}
		if r.Image, err = kernstash.NewImage(key.SPIRV, code); err != nil {
			return nil, err
		}
		all[name] = r
	}
	a, err1 := readSPIRV("imports")
	b, err2 := readSPIRV("exports")
	image, err3 := kernstash.NewImageSet(key.Unit{Kind: key.SPIRV, Code: a}, key.Unit{Kind: key.SPIRV, Code: b})
	all["several"] = kernstash.Request{Image: image}
	return all, errors.Join(err1, err2, err3)
}

// severalChild asks for all requests, and writes where each came from, and what it is.
func severalChild() error {
	cache, x, err := cached(os.Getenv(rootVariable))
	if err != nil {
		return err
	}
	defer cache.Close()
	defer x.Close()
	all, err := requests()
	if err != nil {
		return err
	}
	fmt.Print(resultMark)
	for name, r := range all {
		p, err := x.Program(context.Background(), r)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		native, err := p.Native(0)
		if err != nil {
			return err
		}
		m := native.Module(x.Devices()[0])
		code, err := m.Native()
		if err != nil {
			return err
		}
		names, err := m.KernelNames()
		if err != nil {
			return err
		}
		fmt.Printf("%v|%s|%x %q %q %s\n", p.Origin(), name, key.Digest(sha(code)), names, m.Log(), p.UncacheableReason())
		p.Release()
	}
	return nil
}

func TestCachedProgramsAreWhatWasBuilt(t *testing.T) {
	t.Parallel()
	root := rootVariable + "=" + filepath.Join(t.TempDir(), "cache")
	parse := func(out, origin string) map[string]string {
		all := make(map[string]string)
		for line := range strings.Lines(strings.TrimSpace(out)) {
			from, rest, _ := strings.Cut(strings.TrimSpace(line), "|")
			name, what, _ := strings.Cut(rest, "|")
			if from != origin {
				t.Errorf("%s: %s, want %s", name, from, origin)
			}
			all[name] = what
		}
		return all
	}
	cold := parse(child(t, "several", root), "compiled")
	warm := parse(child(t, "several", root), "disk")
	if len(cold) != 9 {
		t.Errorf("%d programs", len(cold))
	}
	seen := make(map[string]bool)
	for name, what := range cold {
		if warm[name] != what {
			t.Errorf("%s: %s, warm %s", name, what, warm[name])
		}
		if seen[what] {
			t.Errorf("%s: is another's, too", name)
		}
		seen[what] = true
	}
}

func TestCachedKernel(t *testing.T) {
	t.Parallel()
	cache, x, err := cached(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	all, err := requests()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	k, err := x.Kernel(ctx, all["kernels"], "add")
	if err != nil {
		t.Fatal(err)
	}
	d := x.Devices()[0]
	list, err := x.NewList(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(k.Native().Launch(list, [3]int{64, 1, 1}, nil, nil, nil, int32(0)), list.Close(), list.Release()); err != nil {
		t.Error(err)
	}
	if k.Name() != "add" {
		t.Errorf("name %q", k.Name())
	}
	k.Release()
	if _, err := x.Kernel(ctx, all["kernels"], "none"); !errors.Is(err, levelzero.InvalidKernelName) {
		t.Errorf("err = %v", err)
	}
	var refused *kernstash.BuildError
	source, err := kernstash.NewImage(key.OpenCLC, []byte("kernel void f() {}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Program(ctx, kernstash.Request{Image: source}); !errors.Is(err, levelzero.ErrArgument) || errors.As(err, &refused) {
		t.Errorf("err = %v", err)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	if _, err := x.Program(ctx, all["kernels"]); !errors.Is(err, kernstash.ErrClosed) {
		t.Errorf("err = %v", err)
	}
}

// The compiler's refusal is a diagnostic, and nothing is stored.
func TestCachedFailure(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	cache, x, err := cached(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	defer x.Close()
	image, err := kernstash.NewImage(key.SPIRV, broken(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var refused *kernstash.BuildError
		_, err = x.Program(context.Background(), kernstash.Request{Image: image})
		if !errors.As(err, &refused) || !errors.Is(err, levelzero.ModuleBuildFailure) {
			t.Fatalf("err = %v", err)
		}
	}
	cache.Flush(3 * time.Minute)
	if found, _ := filepath.Glob(filepath.Join(dir, "*/*/*/*/*.bin")); len(found) != 0 {
		t.Errorf("stored: %q", found)
	}
}

// oneKeyChild asks for one program at the same time as others do.
func oneKeyChild() error {
	cache, x, err := cached(os.Getenv(rootVariable))
	if err != nil {
		return err
	}
	defer cache.Close()
	defer x.Close()
	all, err := requests()
	if err != nil {
		return err
	}
	p, err := x.Program(context.Background(), all["spills"])
	if err != nil {
		return err
	}
	p.Release()
	fmt.Print(resultMark, cache.Stats().Get(stats.Builds))
	return nil
}

func TestOneOfFourProcessesCompiles(t *testing.T) {
	t.Parallel()
	root := rootVariable + "=" + filepath.Join(t.TempDir(), "cache")
	var mu sync.Mutex
	var all sync.WaitGroup
	compiled := 0
	for range 4 {
		all.Go(func() {
			out, err := tryChild(t, "one key", root)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if out == "1" {
				compiled++
			} else if out != "0" {
				t.Errorf("%q builds", out)
			}
		})
	}
	all.Wait()
	if compiled != 1 {
		t.Errorf("%d of 4 compiled, want 1", compiled)
	}
}

// Variables that change behind a driver that may have read them make what is built
// uncacheable.
func TestChangedVariables(t *testing.T) {
	t.Parallel()
	out := child(t, "changed variables", rootVariable+"="+filepath.Join(t.TempDir(), "cache"))
	if !strings.Contains(out, "environment variables of the compiler changed since the driver was loaded") {
		t.Errorf("%q", out)
	}
}

func changedVariablesChild() error {
	cache, x, err := cached(os.Getenv(rootVariable))
	if err != nil {
		return err
	}
	defer cache.Close()
	defer x.Close()
	os.Setenv("IGC_ForceOCLSIMDWidth", "8")
	all, err := requests()
	if err != nil {
		return err
	}
	p, err := x.Program(context.Background(), all["scale"])
	if err != nil {
		return err
	}
	against := p.UncacheableReason()
	p.Release()
	fmt.Print(resultMark, against)
	return nil
}
