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

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

func init() { children["one request"] = oneRequestChild }

// An asked is one request of oneRequestChild, in order, and where it must come from.
type asked struct {
	name    string
	origin  string // compiled or disk
	units   []key.Unit
	request kernstash.Request
}

// oneRequests asks Intel's driver for OpenCL C and for SPIR-V.
func oneRequests(dir string, spirv []byte) []asked {
	const made, found = "compiled", "disk"
	source := func(code string, headers ...key.Header) []key.Unit {
		return []key.Unit{{Kind: key.OpenCLC, Code: []byte(code), Headers: headers}}
	}
	c := source("kernel void k(global int *p) { *p = A + B; }")
	with := source("#include \"h.h\"\nkernel void k(global int *p) { *p = H; }", key.Header{Name: "h.h", Content: []byte("#define H 1\n")})
	changed := source("#include \"h.h\"\nkernel void k(global int *p) { *p = H; }", key.Header{Name: "h.h", Content: []byte("#define H 2\n")})
	module := []key.Unit{{Kind: key.SPIRV, Code: spirv}}
	options := func(o string) kernstash.Request { return kernstash.Request{CompileOptions: o} }
	constant := func(c ...key.SpecConstant) kernstash.Request { return kernstash.Request{Constants: c} }
	return []asked{
		{"OpenCL C", made, c, options("-DA=1 -DB=2")},
		{"again", found, c, options("-DA=1 -DB=2")},
		{"another order of definitions", found, c, options("-DB=2 -DA=1")},
		{"definitions as two words", found, c, options("-D A=1 -D B=2")},
		{"another directory, which is not searched", found, c, options("-I" + dir + " -DA=1 -DB=2")},
		{"another definition", made, c, options("-DA=1 -DB=3")},
		{"another option", made, c, options("-DA=1 -DB=2 -cl-fast-relaxed-math")},
		{"another source", made, source("kernel void k(global int *p) { *p = A * B; }"), options("-DA=1 -DB=2")},
		{"a header in memory", made, with, kernstash.Request{}},
		{"that again", found, with, kernstash.Request{}},
		{"another header of that name", made, changed, kernstash.Request{}},
		{"SPIR-V", made, module, kernstash.Request{}},
		{"SPIR-V again", found, module, kernstash.Request{}},
		{"a constant", made, module, constant(key.Uint32(7, 5))},
		{"the constant again", found, module, constant(key.Uint32(7, 5))},
		{"another constant", made, module, constant(key.Uint32(7, 9))},
		{"an option of SPIR-V's", made, module, options("-cl-opt-disable")},
	}
}

// oneRequestChild writes where each request came from. Each has a cache of its own, on
// one root.
func oneRequestChild() error {
	d, err := firstDevice("INTEL")
	if err != nil {
		return err
	}
	spirv, err := os.ReadFile(os.Getenv(moduleVariable))
	if err != nil {
		return err
	}
	from := make(map[string]string)
	for _, a := range oneRequests(os.TempDir(), spirv) {
		cache, err := kernstash.Open(kernstash.Options{Dir: os.Getenv(rootVariable)})
		if err != nil {
			return err
		}
		x, err := opencl.NewContext(cache, d)
		if err != nil {
			return err
		}
		if a.request.Image, err = kernstash.NewImageSet(a.units...); err != nil {
			return err
		}
		p, err := x.Program(context.Background(), a.request)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		from[a.name] = p.Origin().String()
		p.Release()
		if err := errors.Join(x.Close(), cache.Close()); err != nil {
			return err
		}
	}
	fmt.Print(resultMark)
	return json.NewEncoder(os.Stdout).Encode(from)
}

// Which requests of OpenCL C and SPIR-V share what was compiled.
func TestOneRequestOfOpenCL(t *testing.T) {
	t.Parallel()
	if !exists(intelICD) {
		t.Fatalf("no %s: apt-get install intel-opencl-icd, or set %s=1 to go without", intelICD, withoutOpenCL)
	}
	module, err := filepath.Abs("testdata/scale.spv")
	if err != nil {
		t.Fatal(err)
	}
	out := child(t, "one request", "OCL_ICD_VENDORS="+intelICD, "NEOReadDebugKeys=1", "SetCommandStreamReceiver=1",
		"ProductFamilyOverride=tgllp", moduleVariable+"="+module, rootVariable+"="+filepath.Join(t.TempDir(), "root"), "KERNSTASH_DIR=")
	_, out, _ = strings.Cut(out, resultMark)
	from := make(map[string]string)
	if err := json.Unmarshal([]byte(out), &from); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	for _, a := range oneRequests("", nil) {
		if from[a.name] != a.origin {
			t.Errorf("%s: %s, want %s", a.name, from[a.name], a.origin)
		}
	}
}

// Variables that only look like debug keys of Intel's driver make no other request; one
// that is one does.
func TestVariablesOfOneRequestOnIntel(t *testing.T) {
	t.Parallel()
	module, err := filepath.Abs("testdata/scale.spv")
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "root")
	for _, test := range []struct {
		variables []string
		want      string // from where
	}{
		{nil, "compiled"},
		{[]string{"ConEmuANSI=1", "MyApplicationsVariable=1"}, "disk"},
		{[]string{"UseKmdMigration=1"}, "compiled"},
		{[]string{"UseKmdMigration=1"}, "disk"},
	} {
		out := child(t, "intel-cached", append([]string{
			"OCL_ICD_VENDORS=" + intelICD, "NEOReadDebugKeys=1", "SetCommandStreamReceiver=1",
			"ProductFamilyOverride=tgllp", moduleVariable + "=" + module, rootVariable + "=" + root, "KERNSTASH_DIR=",
		}, test.variables...)...)
		_, out, _ = strings.Cut(out, resultMark)
		var from []string
		if err := json.Unmarshal([]byte(out), &from); err != nil || len(from) == 0 {
			t.Fatalf("%v in %q", err, out)
		}
		if from[0] != test.want {
			t.Errorf("%q: %s, want %s", test.variables, from[0], test.want)
		}
	}
}

// The order in which PoCL is told which devices to have makes no other request.
func TestOrderOfPoCLsDevices(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	root := t.TempDir()
	if err := os.Chmod(root, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, devices := range []string{"basic pthread", "pthread basic"} {
		out := child(t, "cached", rootVariable+"="+root, deviceVariable+"=basic", "POCL_DEVICES="+devices, "POCL_CACHE_DIR="+t.TempDir(), "KERNSTASH_DIR=")
		var a application
		if err := json.Unmarshal([]byte(out), &a); err != nil {
			t.Fatal(err)
		}
		if hits := a.Stats.Get(stats.DiskHits); hits != int64(i) {
			t.Errorf("%s: %d disk hits, %d builds", devices, hits, a.Stats.Get(stats.Builds))
		}
	}
}
