package launcher

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/timing"
)

// caseOf is a way to set something, and what has to follow.
type caseOf struct {
	name   string
	env    string // a variable
	file   string // the settings file
	served bool
	stored bool
	said   string // on standard error, once; "": nothing of a setting
	status string // of kernstash_open, where it is not 0
}

const malformed = "-7" // KERNSTASH_SETTING

var settingCases = []caseOf{
	{name: "nothing", served: true, stored: true},
	{name: "off: 1", env: "KERNSTASH_DISABLE=1"},
	{name: "off: true", env: "KERNSTASH_DISABLE=true"},
	{name: "off: YES", env: "KERNSTASH_DISABLE=YES"},
	{name: "off: on", env: "KERNSTASH_DISABLE=on"},
	{name: "not off: No", env: "KERNSTASH_DISABLE=No", served: true, stored: true},
	{name: "not off: false", env: "KERNSTASH_DISABLE=false", served: true, stored: true},
	{name: "off: what?", env: "KERNSTASH_DISABLE=maybe", said: `KERNSTASH_DISABLE="maybe" (environment): want 1, true, yes or on, or 0, false, no or off; the cache is off`, status: malformed},
	{name: "off, misspelt", env: "KERNSTASH_DISABEL=1", said: "KERNSTASH_DISABEL (environment): there is no such setting, is it KERNSTASH_DISABLE?; the cache is off"},
	{name: "mode: off", env: "KERNSTASH_MODE=off"},
	{name: "mode: read-only", env: "KERNSTASH_MODE=read-only", served: true},
	{name: "mode: readonly", env: "KERNSTASH_MODE=readonly", served: true, said: `KERNSTASH_MODE="readonly" (environment): want on, read-only, refresh, observe or off; the cache is read, and not written`, status: malformed},
	{name: "mode: what?", env: "KERNSTASH_MODE=obsrve", said: "the cache is off", status: malformed},
	{name: "disk: false", env: "KERNSTASH_PERSISTENT=false"},
	{name: "disk: what?", env: "KERNSTASH_PERSISTENT=nope", said: "the disk tier is off", status: malformed},
	{name: "size: what?", env: "KERNSTASH_MAX_SIZE=some", served: true, said: "the cache is read, and not written", status: malformed},
	{name: "file: off", file: `{"disable": true}`},
	{name: "file: truncated", file: `{"disable": true`, said: "config.json: ends too early; the cache is off", status: malformed},
	{name: "file: misspelt", file: `{"disabled": true}`, said: "is it disable?; the cache is off", status: malformed},
	{name: "file: unknown", file: `{"frobnicate": 1}`, served: true, stored: true, said: "setting frobnicate", status: malformed},
	{name: "file: replaced", file: `{"mode": "what"}`, env: "KERNSTASH_MODE=on", served: true, stored: true, status: malformed},
}

// frontEnds are the ways to the cache: a command that compiles the program 1, which is
// stored, and another one.
type frontEnd struct {
	name    string
	command func(f *fronts, other string) []string
	env     func(f *fronts) []string
	strict  bool     // a value that makes no sense is a status
	short   []string // the cases to be run where there is little time; nil: all
	worker  bool     // what is stored is a job
}

var frontEnds = []frontEnd{
	{name: "run, NVRTC", short: []string{"off: YES", "off: what?", "mode: readonly", "file: truncated"}, command: func(f *fronts, other string) []string { return f.run("nvrtc", "1", other) }},
	{name: "preloaded, NVRTC", short: []string{"off: on", "off: what?", "mode: readonly"}, command: func(f *fronts, other string) []string { return []string{f.compiles, "nvrtc", "1", other} }, env: func(f *fronts) []string {
		return []string{"LD_PRELOAD=" + f.library("libkernstash_preload.so")}
	}},
	{name: "run, OpenCL", worker: true, short: []string{"mode: readonly"}, command: func(f *fronts, other string) []string { return f.run("opencl", "1", other) }},
	{name: "layer, OpenCL", worker: true, short: []string{"off: what?"}, command: func(f *fronts, other string) []string { return []string{f.compiles, "opencl", "1", other} }, env: func(f *fronts) []string {
		return []string{"OPENCL_LAYERS=" + f.library("libkernstash_opencl_layer.so")}
	}},
	{name: "C library", strict: true, command: func(f *fronts, other string) []string { return []string{f.asks, "1", other} }},
	{name: "stub", strict: true, short: []string{"off: YES", "off: what?", "mode: read-only", "file: truncated"}, command: func(f *fronts, other string) []string { return []string{f.stub, "1", other} }, env: func(f *fronts) []string {
		return []string{"LD_LIBRARY_PATH=" + f.lib.Dir}
	}},
}

// fronts is an installation, the programs that use it, and a cache that holds the program 1.
type fronts struct {
	t                            *testing.T
	lib                          *cbuild.Built
	dir, kernstash               string
	compiles, asks, stub, config string
}

func (f *fronts) run(args ...string) []string {
	return append([]string{f.kernstash, "run", "--inject", "layer", "--", f.compiles}, args...)
}

func (f *fronts) library(name string) string { return filepath.Join(f.lib.Dir, name) }

// environ returns the environment of a process whose cache is root.
func (f *fronts) environ(root, config, report string, more ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir, "XDG_CONFIG_HOME=" + config, "KERNSTASH_DIR=" + root,
		"KERNSTASH_LIBDIR=" + f.lib.Dir, "KERNSTASH_WORKER=off", "POCL_CACHE_DIR=" + filepath.Join(f.dir, "pocl"),
		"KERNSTASH_TRACE=disk", "KERNSTASH_TRACE_FILE=" + report + ".trace", "KERNSTASH_REPORT=" + report,
	}, more...)
}

// do runs a command and returns what it says.
func (f *fronts) do(env []string, command ...string) (stdout, stderr string) {
	f.t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env, cmd.Dir = env, f.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		f.t.Fatalf("%q: %v\n%s%s", command, err, &out, &errs)
	}
	return out.String(), errs.String()
}

// held counts what a root holds: entries and jobs.
func held(t *testing.T, root string) (n int) {
	t.Helper()
	for _, pattern := range []string{"[0-9a-f]*/*/*/*/*.bin", ".meta/spool/*/*.*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		n += len(found)
	}
	return n
}

// TestSettingsOfEveryFrontEnd: one rule holds for all ways to the cache. What is served
// and what is written is looked at from outside, with the real compilers.
func TestSettingsOfEveryFrontEnd(t *testing.T) {
	t.Parallel()
	f := newFronts(t)
	number := 1
	for _, front := range frontEnds {
		root := filepath.Join(t.TempDir(), "root")
		cbuild.Digests(t, root)
		report := filepath.Join(t.TempDir(), "report")
		env := func(config string, more ...string) []string {
			if front.env != nil {
				more = append(more, front.env(f)...)
			}
			return f.environ(root, config, report, more...)
		}
		f.empty(report)
		f.do(env(f.dir), front.command(f, "1")...)
		if front.worker {
			f.do(f.environ(root, f.dir, report), f.kernstash, "worker", "run", "--once", "--normal-priority", "--quiet")
		}
		if held(t, root) == 0 {
			t.Fatalf("%s: nothing was stored to begin with", front.name)
		}
		for _, c := range settingCases {
			if front.short != nil && !slices.Contains(front.short, c.name) && !timing.IsLong() {
				continue
			}
			name := front.name + ", " + c.name
			config := f.config
			if c.file != "" {
				config = f.settingsFile(c.file)
			}
			number++
			f.empty(report)
			before := held(t, root)
			out, errs := f.do(env(config, c.env), front.command(f, fmt.Sprint(number))...)
			if front.strict && c.status != "" {
				if !strings.HasPrefix(out, "status "+c.status+": ") || held(t, root) != before {
					t.Errorf("%s: %s, stored %d", name, out, held(t, root)-before)
				}
				continue
			}
			if served := f.served(front, out, report); served != c.served {
				t.Errorf("%s: served %v, want %v\n%s%s", name, served, c.served, out, errs)
			}
			if stored := held(t, root) > before; stored != c.stored {
				t.Errorf("%s: stored %v, want %v\n%s%s", name, stored, c.stored, out, errs)
			}
			switch n := strings.Count(errs, "kernstash: warning: "); {
			case c.said == "" && n > 0, c.said != "" && n != 1, !strings.Contains(errs, c.said):
				t.Errorf("%s: said %d times:\n%swant %q", name, n, errs, c.said)
			}
		}
	}
	f.workers()
}

// workers checks that no worker writes where the settings do not let it.
func (f *fronts) workers() {
	for _, c := range settingCases {
		if c.stored {
			continue
		}
		config := f.config
		if c.file != "" {
			config = f.settingsFile(c.file)
		}
		cmd := exec.Command(f.kernstash, "worker", "run", "--once")
		cmd.Env = f.environ(filepath.Join(f.dir, "none"), config, filepath.Join(f.dir, "none"), c.env)
		if out, err := cmd.CombinedOutput(); err == nil {
			f.t.Errorf("worker, %s: it works\n%s", c.name, out)
		}
	}
}

func newFronts(t *testing.T) *fronts {
	t.Helper()
	build, source := built(t)
	f := &fronts{t: t, lib: cbuild.Library(t), dir: t.TempDir(), kernstash: filepath.Join(build, "bin", "kernstash")}
	f.config = filepath.Join(f.dir, "config")
	f.compiles = f.lib.CompileAlone(t, []string{"testdata/compiles.c"}, "-D_GNU_SOURCE", "-ldl", "-lOpenCL")
	f.asks = f.lib.Compile(t, []string{"testdata/asks.c"})
	f.stub = f.lib.CompileAlone(t, []string{"testdata/asks.c", f.lib.Stub}, "-pthread", "-ldl", "-I"+filepath.Join(source, "capi", "stub"))
	return f
}

// settingsFile makes a settings file and returns the directory that XDG_CONFIG_HOME names.
func (f *fronts) settingsFile(text string) string {
	f.t.Helper()
	dir := f.t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "kernstash"), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kernstash", "config.json"), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return dir
}

// empty makes an empty report, which processes append to.
func (f *fronts) empty(report string) {
	f.t.Helper()
	_ = os.Remove(report + ".trace")
	if err := os.WriteFile(report, nil, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// served reports whether the program 1 came from the cache.
func (f *fronts) served(front frontEnd, out, report string) bool {
	f.t.Helper()
	if front.name == "C library" || front.name == "stub" {
		return strings.HasPrefix(out, "built 1\n")
	}
	b, err := os.ReadFile(report)
	if err != nil {
		f.t.Fatal(err)
	}
	return bytes.Contains(b, []byte(`"outcome":"disk"`))
}
