// Package ownmounts runs a test that mounts file systems in a process with mounts of its own.
// What it mounts goes, and its loop devices with it, however the test ends. It is for tests alone.
package ownmounts

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

const variable = "KERNSTASH_TEST_OWN_MOUNTS"

// Here reports whether this process has mounts of its own. Elsewhere it runs the test, which
// is a top-level one, in such a process, with the same result, and the caller returns. It skips
// the test where only root can mount, or the system does not let it.
//
//	if !ownmounts.Here(t) {
//		return
//	}
func Here(t *testing.T) bool {
	t.Helper()
	if os.Getenv(variable) == t.Name() {
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can mount a file system")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The kernel ends the process when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out, err := run(program, t.Name(), syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS})
	if errors.Is(err, syscall.EINVAL) {
		// The root of a chroot is no mount that could be made private: those of scripts/bare are.
		out, err = run(program, t.Name(), syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS})
	}
	switch {
	case errors.Is(err, syscall.EPERM):
		t.Skipf("NOT RUN: no mounts of its own: %v", err)
	case err != nil:
		t.Errorf("with mounts of its own: %v\n%s", err, out)
	case bytes.HasPrefix(lastResult(out, t.Name()), []byte("--- SKIP")):
		t.Skipf("%s", out)
	default:
		t.Logf("%s", out)
	}
	return false
}

func run(program, test string, attr syscall.SysProcAttr) ([]byte, error) {
	cmd := exec.Command(program, "-test.run=^"+test+"$", "-test.v", "-test.timeout=20m")
	cmd.Env = append(os.Environ(), variable+"="+test)
	attr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr = &attr
	return cmd.CombinedOutput()
}

// lastResult returns the line that says how a top-level test ended.
func lastResult(out []byte, name string) (line []byte) {
	for l := range bytes.Lines(out) {
		if bytes.HasPrefix(l, []byte("--- ")) && bytes.Contains(l, []byte(": "+name+" (")) {
			line = l
		}
	}
	return line
}
