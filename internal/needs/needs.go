// Package needs has tests say what they need of a machine. It is for tests alone.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

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
