package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// TestMain lets the scripts run this very binary as kernstash, as stash-put,
// which fills a cache without any runtime, stash-job, which adds work for a worker,
// stash-old and stash-changed, which make its entries those of an earlier driver, or of
// another compiler, and as json, which looks into JSON.
func TestMain(m *testing.M) {
	if os.Getenv("TMPDIR") == "/dev/shm" && strings.HasSuffix(os.Args[0], ".test") {
		os.Unsetenv("TMPDIR") // of a root in memory doctor warns
	}
	testscript.Main(m, map[string]func(){
		"kernstash":     main,
		"stash-put":     exitWith(stashPut),
		"stash-job":     exitWith(stashJob),
		"stash-old":     exitWith(stashOld),
		"stash-changed": exitWith(stashChanged),
		"json":          exitWith(jsonQuery),

		"wait-interrupted": waitInterrupted,
	})
}

func exitWith(f func(args []string) error) func() {
	return func() {
		if err := f(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func TestScripts(t *testing.T) { runScripts(t, "script") }

// runScripts runs the scripts in a folder of testdata.
func runScripts(t *testing.T, folder string) {
	t.Parallel()
	testscript.Run(t, scriptParams(filepath.Join("testdata", folder)))
}

// scriptParams runs the scripts of a directory, each with a home of its own.
func scriptParams(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "long":
				return os.Getenv("KERNSTASH_TEST_LONG") == "1", nil
			case "mounts": // a process may mount something for itself
				return exec.Command("unshare", "-rm", "true").Run() == nil, nil
			}
			return false, fmt.Errorf("no condition %q", cond)
		},
		Setup: func(env *testscript.Env) error {
			needs.AwaitForks() // the archive's files, programs among them, have just been written
			// Else each process of a race-enabled test sleeps a second at its end.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_CACHE_HOME", "")
			env.Setenv("XDG_CONFIG_HOME", "")
			env.Setenv("POCL_CACHE_DIR", filepath.Join(env.WorkDir, "pocl"))
			fake, err := filepath.Abs("../../gpu/cuda/testdata/fake.c")
			if err != nil {
				return err
			}
			env.Setenv("FAKE_CUDA", fake)
			saxpy, err := filepath.Abs("../../examples/c/saxpy.c")
			if err != nil {
				return err
			}
			env.Setenv("SAXPY", saxpy)
			if err := copySPIRV(env.WorkDir); err != nil {
				return err
			}
			return os.Mkdir(filepath.Join(env.WorkDir, "pocl"), 0o700)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"ambiguous": ambiguous, "cut": cut, "damage": damage, "damage-headers": damageHeaders, "older": older, "status": status,
			"show": onKey("show"), "pin": onKey("pin"), "unpin": onKey("unpin"),
			"stash-record":     stashRecord,
			"waits-for-worker": waitsForWorker, "waits-for-agent": waitsForAgent,
		},
	}
}

// copySPIRV lets the scripts have a module of SPIR-V, scale.spv.
func copySPIRV(dir string) error {
	b, err := os.ReadFile("../../gpu/opencl/testdata/scale.spv")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "scale.spv"), b, 0o600)
}

// stashPut puts the entries number 0 to N-1 into the cache DIR. Entry i has
// the kernel "kernel<i>", (i+1) KiB of code and cost i+1 seconds.
func stashPut(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	d := disk.New(disk.Options{Dir: args[0]})
	for i := range n {
		e, err := testEntry(i)
		if err != nil {
			return err
		}
		if _, err := d.Put(context.Background(), e); err != nil {
			return err
		}
	}
	return d.Close()
}

func testEntry(i int) (*store.Entry, error) {
	source := fmt.Sprintf("__kernel void kernel%d(__global float *x) { x[%d] = 1; }\n", i, i)
	image, err := key.NewImage(key.OpenCLC, []byte(source))
	if err != nil {
		return nil, err
	}
	constants, err := key.NewConstants(key.Uint32(7, uint32(i)))
	if err != nil {
		return nil, err
	}
	recipe := &key.Recipe{
		Device: key.Device{
			API: "opencl", Platform: "Test Platform", Name: "Test Device", Version: "OpenCL 3.0", Driver: "1.2",
			Compiler: []key.Pair{{Name: "libtest", Value: "build-id"}},
		},
		Image: image, Constants: constants, Options: key.NewOptions("-DN=1 -cl-fast-relaxed-math", ""),
	}
	recipe.Options.Attributes = []key.Pair{{Name: "module order", Value: "1,0"}}
	recipe.Options.Unkeyed = []key.Pair{{Name: "source directory", Value: "/src/"}}
	return &store.Entry{Key: recipe.Key(), Recipe: recipe, Artifact: &store.Artifact{
		Binaries: []store.Binary{{Form: store.FormFinal, Data: []byte(strings.Repeat(string(rune('a'+i%26)), (i+1)<<10))}},
		Log:      "warning: of a test\n",
		Cost:     time.Duration(i+1) * time.Second,
		Created:  time.Now(),
		Kernels: []store.Kernel{{
			Name: fmt.Sprintf("kernel%d", i), Args: []store.Arg{{Name: "x", TypeName: "float*"}},
		}},
	}}, nil
}
