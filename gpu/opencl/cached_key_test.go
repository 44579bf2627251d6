//go:build !nogpu

package opencl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

func init() { children["intel-cached"] = intelCachedChild }

// intelCachedChild is an application on Intel's driver: it asks for one module
// with constants 5, 9, and 5 again, and writes where each came from.
func intelCachedChild() error {
	d, err := firstDevice("INTEL")
	if err != nil {
		return err
	}
	cache, err := kernstash.Open(kernstash.Options{Dir: os.Getenv(rootVariable)})
	if err != nil {
		return err
	}
	c, err := opencl.NewContext(cache, d)
	if err != nil {
		return err
	}
	code, err := os.ReadFile(os.Getenv(moduleVariable))
	if err != nil {
		return err
	}
	module, err := kernstash.NewImage(key.SPIRV, code)
	if err != nil {
		return err
	}
	var from []string
	for _, value := range []uint32{5, 9, 5} {
		before := cache.Stats()
		p, err := c.Program(context.Background(), kernstash.Request{Image: module, Constants: []key.SpecConstant{key.Uint32(7, value)}})
		if err != nil {
			return err
		}
		p.Release()
		switch s := cache.Stats().Sub(before); {
		case s[stats.Builds] == 1:
			from = append(from, "compiled")
		case s[stats.DiskHits] == 1:
			from = append(from, "disk")
		case s[stats.MemoryHits] == 1:
			from = append(from, "memory")
		}
	}
	if err := errors.Join(c.Close(), cache.Close()); err != nil {
		return err
	}
	fmt.Print(resultMark)
	return json.NewEncoder(os.Stdout).Encode(from)
}

// A specialization constant with another value is another program; with the
// same value it is found, in memory and by the next process. Intel's driver is
// done when the build is, so nothing has to be launched for that.
func TestConstantsThroughTheCacheOnIntel(t *testing.T) {
	t.Parallel()
	if !exists(intelICD) {
		t.Fatalf("no %s: apt-get install intel-opencl-icd, or set %s=1 to go without", intelICD, withoutOpenCL)
	}
	module, err := filepath.Abs("testdata/scale.spv")
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "root")
	for _, want := range [][]string{{"compiled", "compiled", "memory"}, {"disk", "disk", "memory"}} {
		out := child(t, "intel-cached", "OCL_ICD_VENDORS="+intelICD, "NEOReadDebugKeys=1", "SetCommandStreamReceiver=1",
			"ProductFamilyOverride=tgllp", moduleVariable+"="+module, rootVariable+"="+root, "KERNSTASH_DIR=")
		_, out, _ = strings.Cut(out, resultMark)
		var got []string
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%v in %q", err, out)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("where programs came from (-want +got):\n%s", diff)
		}
	}
}

// Two equal sub-devices: one build, for both at once and for each alone.
func TestEqualPartsThroughTheCache(t *testing.T) {
	t.Parallel()
	parts, err := device(t).SubDevicesEqually(1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, p := range parts {
			released(t, p)
		}
	}()
	if len(parts) < 2 {
		t.Log("one compute unit here: the only part is the whole")
	}
	cache, err := kernstash.Open(kernstash.Options{Dir: filepath.Join(t.TempDir(), "root")})
	if err != nil {
		t.Fatal(err)
	}
	c, err := opencl.NewContext(cache, parts...)
	if err != nil {
		t.Fatal(err)
	}
	image, err := kernstash.NewImage(key.OpenCLC, []byte("kernel void put(global int *p, int v) { p[get_global_id(0)] = v; }"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Program(t.Context(), kernstash.Request{Image: image})
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range parts {
		q, err := c.NewQueue(part, opencl.QueueOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.NewBuffer(opencl.ReadWrite, 64)
		if err != nil {
			t.Fatal(err)
		}
		k, err := p.KernelOn(t.Context(), i, "put")
		if err != nil {
			t.Fatal(err)
		}
		got := make([]int32, 16)
		if err := errors.Join(k.Launch(q, []int{16}, []int{16}, b, int32(i+1)), q.Read(b, 0, opencl.Bytes(got))); err != nil {
			t.Fatal(err)
		}
		if got[15] != int32(i+1) {
			t.Errorf("part %d wrote %d", i, got[15])
		}
		k.Release()
		released(t, b)
		released(t, q)
		alone, err := c.Program(t.Context(), kernstash.Request{Image: image, Devices: []int{i}})
		if err != nil {
			t.Fatal(err)
		}
		alone.Release()
	}
	p.Release()
	if n := cache.Stats()[stats.Builds]; n != 1 {
		t.Errorf("%d builds, want 1", n)
	}
	if err := errors.Join(c.Close(), cache.Close()); err != nil {
		t.Error(err)
	}
}
