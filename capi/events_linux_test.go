package main

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/cbuild"
)

// Who waits in C is woken; a child that a handler of a signal makes meanwhile does not wait for
// what its parent's threads would do, and a handler may leave the wait by longjmp.
func TestEvents(t *testing.T) {
	t.Parallel()
	front, err := filepath.Glob("front/*.c")
	if err != nil {
		t.Fatal(err)
	}
	program := cbuild.Library(t).CompileAlone(t, append(front, "testdata/events.c"), "-std=gnu11", "-pthread", "-I.", "-ldl")
	for part, want := range map[string]string{
		"wake": "woken, handled 0\n",
		"fork": "child 0, woken, handled 1\n",
		"jump": "woken, handled 1\n",
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(program, part)
			stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			defer stuck.Stop()
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
				t.Errorf("%v: %q, want %q", err, out, want)
			}
		})
	}
}
