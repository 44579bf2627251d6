package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/timing"
)

func TestMain(m *testing.M) {
	// Other drivers find no hardware, or change the order of the devices.
	if os.Getenv("OCL_ICD_VENDORS") == "" {
		os.Setenv("OCL_ICD_VENDORS", "/etc/OpenCL/vendors/pocl.icd")
	}
	os.Exit(cbuild.Main(m))
}

// parts are the C files of the test program.
var parts = []string{
	"testdata/main.c", "testdata/lookup.c", "testdata/refuse.c", "testdata/build.c", "testdata/host.c", "testdata/faults.c",
}

// sanitizers are the flags under which every part runs.
var sanitizers = map[string][]string{
	"plain":   nil,
	"address": {"-fsanitize=address,undefined", "-fno-sanitize-recover=all"},
}

// host is the test program, in an environment of its own.
type host struct {
	t       *testing.T
	program string
	dir     string // of its own
	root    string // of its cache
	env     []string
}

// hosts runs f with the test program as it is, and with sanitizers.
func hosts(t *testing.T, f func(t *testing.T, h *host)) {
	t.Parallel()
	lib := cbuild.Library(t)
	for name, flags := range sanitizers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(flags) > 0 {
				timing.Long(t)
			}
			f(t, newHost(t, lib.Compile(t, parts, flags...)))
		})
	}
}

func newHost(t *testing.T, program string) *host {
	t.Helper()
	dir := t.TempDir()
	h := &host{t: t, program: program, dir: dir, root: filepath.Join(dir, "root")}
	h.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "TEST_DIR=" + dir,
		"KERNSTASH_DIR=" + h.root,
	}
	return h
}

// command is a run of a part, which has not begun.
func (h *host) command(part string, env ...string) *exec.Cmd {
	cmd := exec.Command(h.program, part)
	cmd.Env = append(append(cmd.Env, h.env...), env...)
	cmd.Dir = h.dir
	return cmd
}

// run runs a part, which must succeed, and returns what it printed.
func (h *host) run(part string, env ...string) string {
	h.t.Helper()
	out, err := h.command(part, env...).CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s: %v\n%s", part, err, out)
	}
	return string(out)
}

// without takes variables out of the host's environment.
func (h *host) without(names ...string) {
	var env []string
	for _, e := range h.env {
		name, _, _ := strings.Cut(e, "=")
		keep := true
		for _, n := range names {
			keep = keep && n != name
		}
		if keep {
			env = append(env, e)
		}
	}
	h.env = env
}

// entries returns the paths of the entries below a root.
func entries(t *testing.T, root string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(root, "*", "*", "*", "*", "*.bin"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// signalOf returns the signal that ended a process; 0 for none.
func signalOf(err error) syscall.Signal {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			return s.Signal()
		}
	}
	return 0
}
