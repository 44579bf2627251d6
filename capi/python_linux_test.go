package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/needs"
)

// The package in python/, by its own tests: get-or-build, and the cache manager with a stand-in for
// Triton.
func TestPythonGetOrBuild(t *testing.T) { pytest(t, "test_kernstash.py") }
func TestTritonManager(t *testing.T)    { pytest(t, "test_group.py", "test_triton.py") }

// pytest runs files of tests, with the library that was built.
func pytest(t *testing.T, files ...string) {
	t.Parallel()
	python := pythonWithTests(t)
	lib := cbuild.Library(t)
	dir := filepath.Join(lib.Root, "python")
	// The go command sees what the test reads, and not what Python does.
	_ = filepath.WalkDir(dir, func(_ string, _ fs.DirEntry, err error) error { return err })
	args := []string{"-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", filepath.Join(t.TempDir(), "pytest")}
	cmd := exec.Command(python, append(args, files...)...)
	cmd.Dir = filepath.Join(dir, "tests")
	cmd.Env = append(os.Environ(), "KERNSTASH_LIBDIR="+lib.Dir, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// pythonWithTests returns a Python that has pytest: one in the path, or the distribution's.
func pythonWithTests(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import pytest").Run() == nil {
			return name
		}
	}
	needs.Missing(t, "there is no python3 with pytest", "python3-pytest")
	return ""
}
