package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConfigOfManyProcesses: of processes that change the settings file at one moment none undoes what another one did, and no
// file of theirs stays.
func TestConfigOfManyProcesses(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "config.json")
	write(t, file, `{"layers": ["/a"], "trace": "disk", "worker": "off"}`)
	write(t, filepath.Join(dir, ".config.json.lock"), "") // of a process that was killed
	want := map[string]any{"layers": []any{"/a"}}
	var running []*exec.Cmd
	start := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Args = append([]string{"kernstash"}, append(args, "--config", file)...)
		cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for name, value := range map[string]string{
		"max-size": "1GiB", "threshold": "7", "eviction": "lru", "mode": "read-only", "min-build-time": "5ms", "tenant": "team",
		"close-timeout": "3s", "capture-quiet": "60ms", "in-mem-capacity": "3", "remote-timeout": "1s", "records": "0", "compilers": "0",
	} {
		want[name] = value
		start("config", "set", name, value)
	}
	start("config", "unset", "trace")
	start("config", "unset", "worker")
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", strings.Join(cmd.Args, " "), err)
		}
	}
	var got map[string]any
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the settings file (-want +got):\n%s", diff)
	}
	names, err := filepath.Glob(filepath.Join(dir, ".config*"))
	if err != nil || len(names) > 0 {
		t.Errorf("files are left: %v, %v", slices.Sorted(slices.Values(names)), err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
