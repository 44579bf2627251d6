//go:build !nogpu

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestReadmeCommands runs, one after the other, the commands that README.md
// shows at a prompt. `make demo` is CI's to run.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	n := 0
	for line := range strings.Lines(string(readme)) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		if !ok || command == "make demo" {
			continue
		}
		if !strings.HasPrefix(command, "kernstash ") {
			t.Errorf("README.md shows %q, which no test runs", command)
			continue
		}
		n++
		fmt.Fprintf(&script, "exec %s\n", command)
	}
	if n < 3 {
		t.Errorf("README.md shows only %d commands", n)
	}
	vadd, err := os.ReadFile("../../internal/demo/kernels/vadd.cl")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&script, "-- vadd.cl --\n%s", vadd)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "readme.txtar"), []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, scriptParams(dir))
}
