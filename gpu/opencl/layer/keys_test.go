//go:build !nogpu

package layer_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

func init() { children["intel"] = intelChild }

// intelChild is an application on Intel's driver that builds one program. It
// says how it got it, and what its binary is.
func intelChild() error {
	d, err := firstDevice("INTEL")
	if err != nil {
		return err
	}
	l, err := layer.Open(at(os.Getenv(rootVariable)))
	if err != nil {
		return err
	}
	h, err := makeHost(l, d)
	if err != nil {
		return err
	}
	options := "-DN=3"
	p := h.build(source(7), &options)
	sum := sha256.Sum256(p.binaries[0])
	fmt.Printf("%s%v %d %s", resultMark, p, len(p.binaries[0]), hex.EncodeToString(sum[:]))
	return errors.Join(p.err, l.Close())
}

// What one process built another one restores, byte for byte.
func TestAnotherProcessRestores(t *testing.T) {
	t.Parallel()
	root := rootVariable + "=" + filepath.Join(t.TempDir(), "root")
	cold, warm := child(t, "intel", root), child(t, "intel", root)
	binary, ok := strings.CutPrefix(cold, "built ")
	if !ok || warm != "restored "+binary || strings.HasPrefix(binary, "0 ") {
		t.Errorf("first %q, then %q", cold, warm)
	}
}

// library is the Go library's front end to the cache.
func library(t *testing.T, root string, o opencl.CachedOptions, devices ...*opencl.Device) (*opencl.Cached, *kernstash.Cache) {
	t.Helper()
	cache, err := kernstash.Open(kernstash.Options{Dir: root})
	if err != nil {
		t.Fatal(err)
	}
	c, err := opencl.NewContextWith(cache, o, devices...)
	if err != nil {
		t.Fatal(err)
	}
	return c, cache
}

func image(t *testing.T, source string) *kernstash.Image {
	t.Helper()
	m, err := kernstash.NewImage(key.OpenCLC, []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The Go library and the layer have one key for one program, with options, with
// none, and with header files.
func TestLibraryAndLayerShareEntries(t *testing.T) {
	t.Parallel()
	d := device(t, "INTEL")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "value.h"), []byte("#define VALUE 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "root")
	for i, c := range []struct {
		name, source string
		options      *string
	}{
		{"no options", source(10), nil},
		{"empty options", source(11), &none},
		{"options", "kernel void k(global int *p) { *p = N; }", ptr("-DN=1  -cl-mad-enable")},
		{"a header", "#include \"value.h\"\nkernel void k(global int *p) { *p = VALUE; }", ptr("-I " + dir)},
	} {
		r := kernstash.Request{Image: image(t, c.source), NoOptions: c.options == nil && d.TellsNoOptions()}
		if c.options != nil {
			r.CompileOptions = *c.options
		}
		for _, libraryFirst := range []bool{true, false} {
			where := fmt.Sprintf("%s%d%v", root, i, libraryFirst)
			throughLibrary := func() kernstash.Origin {
				x, cache := library(t, where, opencl.CachedOptions{}, d)
				p, err := x.Program(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				origin := p.Origin()
				p.Release()
				if err := errors.Join(x.Close(), cache.Close()); err != nil {
					t.Fatal(err)
				}
				return origin
			}
			throughLayer := func() string {
				l := openLayer(t, where)
				p := newHost(t, l, d).build(c.source, c.options)
				if p.String() == "built" {
					counted(t, l, stats.DiskPuts, 1)
				}
				return p.String()
			}
			if libraryFirst {
				if a, b := throughLibrary(), throughLayer(); a != kernstash.Compiled || b != "restored" {
					t.Errorf("%s: the library had it %v, then the layer %v", c.name, a, b)
				}
			} else if a, b := throughLayer(), throughLibrary(); a != "built" || b != kernstash.Disk {
				t.Errorf("%s: the layer had it %v, then the library %v", c.name, a, b)
			}
		}
	}
}

func ptr(s string) *string { return &s }

// PoCL makes another program of no options than of empty ones, Intel's driver
// does not.
func TestNoOptionsAndEmptyOnes(t *testing.T) {
	t.Parallel()
	const code = "kernel void k(global int *p, float x) { *p = x; }"
	for suffix, want := range map[string]bool{"POCL": true, "INTEL": false} {
		d := device(t, suffix)
		if d.TellsNoOptions() != want {
			t.Errorf("%s: TellsNoOptions is %v", suffix, !want)
		}
	}
	h := newHost(t, openLayer(t, filepath.Join(t.TempDir(), "root")), device(t, "INTEL"))
	null := h.build(code, nil)
	counted(t, h.l, stats.DiskPuts, 1)
	empty := h.build(code, &none)
	if null.String() != "built" || empty.String() != "restored" {
		t.Errorf("no options: %v; empty ones: %v", null, empty)
	}
	other := newHost(t, openLayer(t, filepath.Join(t.TempDir(), "root")), device(t, "INTEL"))
	if p := other.build(code, &none); !bytes.Equal(p.binaries[0], null.binaries[0]) {
		t.Error("Intel's driver makes other code of empty options than of none")
	}
}

// The operator's options are not the layer's to apply: it cannot change what the
// driver is given.
func TestOptionsOfTheOperatorDoNotCount(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	d := device(t, "INTEL")
	h := newHost(t, openLayer(t, root), d)
	h.build(source(20), &none)
	counted(t, h.l, stats.DiskPuts, 1)
	t.Setenv("KERNSTASH_APPEND_COMPILE_OPTIONS", "-cl-fast-relaxed-math")
	t.Setenv("KERNSTASH_COMPILE_OPTIONS", "-DX")
	if p := newHost(t, openLayer(t, root), d).build(source(20), &none); p.String() != "restored" {
		t.Errorf("with the operator's options: %v", p)
	}
}

// What the Go library captured on PoCL is served, and launches that it is not
// ready for are left for the worker.
func TestArtifactOfTheLibraryOnPoCL(t *testing.T) {
	t.Parallel()
	d := device(t, "POCL")
	root := filepath.Join(t.TempDir(), "root")
	x, cache := library(t, root, opencl.CachedOptions{}, d)
	q, err := x.NewQueue(d, opencl.QueueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := x.NewBuffer(opencl.ReadWrite, 1024)
	if err != nil {
		t.Fatal(err)
	}
	k, err := x.Kernel(t.Context(), kernstash.Request{Image: image(t, source(30))}, "put30")
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Launch(q, []int{64}, []int{64}, b); err != nil {
		t.Fatal(err)
	}
	if err := q.Finish(); err != nil {
		t.Fatal(err)
	}
	if !cache.Flush(3 * time.Minute) {
		t.Fatal("not captured")
	}
	k.Release()
	if err := errors.Join(b.Release(), q.Release(), x.Close(), cache.Close()); err != nil {
		t.Fatal(err)
	}

	l := openLayer(t, root)
	p := newHost(t, l, d).build(source(30), &none)
	if p.String() != "restored" || p.served.Artifacts[0].Kind != opencl.Deferred || p.number == 0 {
		t.Fatalf("%v, number %d, %+v", p, p.number, p.served)
	}
	l.Launched(p.number, "put30", [3]uintptr{0, 64, 64})
	if jobs := spooled(t, l, root, 0); len(jobs) != 0 {
		t.Errorf("jobs for a launch that the artifact is ready for: %v", jobs)
	}
	l.Launched(p.number, "put30", [3]uintptr{0, 64, 32})
	jobs := spooled(t, l, root, 1)
	want := []string{"put30/32-1-1-goffs0-smallgrid"}
	if len(jobs) != 1 || fmt.Sprint(jobs[0].Variants) != fmt.Sprint(want) {
		t.Fatalf("jobs %v, want one with %v", jobs, want)
	}
	l.Released(p.number)
	l.Launched(p.number, "put30", [3]uintptr{0, 64, 16})
	if jobs := spooled(t, l, root, 1); len(jobs[0].Variants) != 1 {
		t.Errorf("a launch of a program that was given up is noted: %v", jobs[0].Variants)
	}

	// A worker that did the job without the launch is not asked again, by the next process.
	s := disk.New(disk.Options{Dir: root})
	defer s.Close()
	waiting, err := spool.List(t.Context(), s)
	if err != nil || len(waiting) != 1 {
		t.Fatal(waiting, err)
	}
	if err := spool.Left(t.Context(), s, &waiting[0], jobs[0], want); err != nil {
		t.Fatal(err)
	}
	l = openLayer(t, root)
	p = newHost(t, l, d).build(source(30), &none)
	l.Launched(p.number, "put30", [3]uintptr{0, 64, 64})
	l.Launched(p.number, "put30", [3]uintptr{0, 64, 32})
	if jobs := spooled(t, l, root, 0); len(jobs) != 0 {
		t.Errorf("the next process: %v", jobs[0].Variants)
	}
}

func requestOf(t *testing.T, source string) kernstash.Request {
	t.Helper()
	return kernstash.Request{Image: image(t, source)}
}

func constant(id uint32) []key.SpecConstant { return []key.SpecConstant{key.Uint32(id, 1)} }

// twice returns two headers of one name.
func twice() []key.Header { return []key.Header{{Name: "h"}, {Name: "h"}} }

// With its debug keys on, what counts of variables that look like some are those that Intel's
// library knows.
func TestVariablesThatAreNoDebugKeys(t *testing.T) {
	d := device(t, "INTEL")
	for _, name := range []string{"ConEmuANSI", "MyApplicationsVariable", "UseKmdMigration"} {
		t.Setenv(name, "1")
	}
	var names []string
	for _, v := range d.Variables() {
		names = append(names, v.Name)
	}
	want := []string{"NEOReadDebugKeys", "ProductFamilyOverride", "SetCommandStreamReceiver", "UseKmdMigration"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}
