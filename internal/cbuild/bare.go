//go:build linux

package cbuild

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Bare is a library of Go with nothing in it, and a C program that opens it: what the C library is compared with.
type Bare struct{ program, library string }

// NewBare builds them for a test.
func NewBare(t testing.TB) Bare {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	from, dir := filepath.Join(root, "internal", "cbuild", "testdata"), t.TempDir()
	b := Bare{filepath.Join(dir, "opens"), filepath.Join(dir, "bare.so")}
	if err := run(root, "a bare library of Go", "go", "build", "-buildmode=c-shared", "-o", b.library, filepath.Join(from, "bare")); err != nil {
		t.Fatal(err)
	}
	if err := run(root, "what opens it", CC(), "-O2", "-o", b.program, filepath.Join(from, "opens.c"), "-ldl"); err != nil {
		t.Fatal(err)
	}
	return b
}

// Opened returns how long a new process needs to open the library and call a function of it the first time, and how
// long a later call takes that holds signals back, the least of ten times 300.
func (b Bare) Opened(t testing.TB) (first, call time.Duration) {
	t.Helper()
	out, err := exec.Command(b.program, b.library).Output()
	if err != nil {
		t.Fatalf("%s %s: %v", b.program, b.library, err)
	}
	var micros, nanos float64
	if _, err := fmt.Sscanf(string(out), "opened %f call %f\n", &micros, &nanos); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	return time.Duration(micros * 1e3), time.Duration(nanos)
}
