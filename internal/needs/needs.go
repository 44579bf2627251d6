// Package needs has tests say what they need of a machine. It is for tests alone.
package needs

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// CUDA returns the directory of NVIDIA's toolkit: that of KERNSTASH_TEST_CUDA, or the one that
// scripts/cuda unpacks. Where that is not there it skips the test: what CI runs first is as a new
// user's machine, which fetches no 1.1 GB.
func CUDA(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("KERNSTASH_TEST_CUDA"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || dir == filepath.Dir(dir) {
			break
		}
	}
	dir = filepath.Join(dir, "bin", "cuda")
	if _, err := os.Stat(filepath.Join(dir, "bin", "nvcc")); err != nil {
		t.Skip("NOT RUN: there is no bin/cuda: scripts/cuda fetches it (1.1 GB)")
	}
	return dir
}

// Tool returns the path of a program. Where there is none, it skips the test, or
// fails it in CI (the variable CI is set). pkg is the package that has it.
func Tool(t testing.TB, name, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "there is no "+name, pkg)
	}
	return path
}

// Missing skips a test that needs software which is not installed, or fails it in
// CI, where all of it is to be installed.
func Missing(t testing.TB, what, pkg string) {
	t.Helper()
	text := "NOT RUN: " + what + ": as root, apt-get install " + pkg
	if os.Getenv("CI") != "" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// WriteProgram is os.WriteFile for a file that the test executes. No process that another test
// starts meanwhile inherits the file while it is open for writing, which would keep it from
// being executed (ETXTBSY, https://go.dev/issue/22315).
func WriteProgram(path string, b []byte, mode os.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, b, mode)
}

// AwaitForks waits until the processes that other tests are starting have none of this one's files open: for files
// that were written without WriteProgram, and closed.
func AwaitForks() {
	syscall.ForkLock.RLock() // is held from a fork until the child executes its program
	defer syscall.ForkLock.RUnlock()
}

// CopyPrograms is os.CopyFS, as WriteProgram is os.WriteFile.
func CopyPrograms(dir string, from fs.FS) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.CopyFS(dir, from)
}
