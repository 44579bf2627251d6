package servers

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Child is a process of the test's own program, such as a machine of a fleet.
type Child struct {
	Cmd   *exec.Cmd
	Begin func()      // sends it a line
	Lines chan string // that it prints; closed at the end of its output
}

// StartChild starts the test's program again, with more variables, by which its TestMain knows what
// to do. It is killed at the end of the test.
func StartChild(t testing.TB, variables ...string) *Child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), variables...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &Child{Cmd: cmd, Begin: func() { fmt.Fprintln(in, "go") }, Lines: make(chan string, 1000)}
	go func() {
		defer close(c.Lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.Lines <- s.Text()
		}
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return c
}

// Says fails the test unless the child's next line is this.
func (c *Child) Says(t testing.TB, want string) {
	t.Helper()
	if line := <-c.Lines; line != want {
		t.Fatalf("a process says %q, want %q", line, want)
	}
}
