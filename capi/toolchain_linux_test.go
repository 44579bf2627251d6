package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/timing"
)

// A toolchain that go has fetched lies below GOMODCACHE, where go refuses to replace files: the
// library is built by it all the same.
func TestBuiltByAFetchedToolchain(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	env := func(name string) string {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	modules := t.TempDir()
	have, err := os.ReadDir(env("GOMODCACHE"))
	if err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"toolchain": env("GOROOT")}
	for _, e := range have {
		links[e.Name()] = filepath.Join(env("GOMODCACHE"), e.Name())
	}
	for name, at := range links {
		if err := os.Symlink(at, filepath.Join(modules, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := cbuild.Root()
	if err != nil {
		t.Fatal(err)
	}
	goroot, out := filepath.Join(modules, "toolchain"), t.TempDir()
	cmd := exec.Command(filepath.Join(root, "capi", "build"), out)
	cmd.Env = append(os.Environ(), "GOMODCACHE="+modules, "GOROOT="+goroot, "GO="+filepath.Join(goroot, "bin", "go"), "GOTOOLCHAIN=local")
	if log, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	for _, name := range []string{"libkernstash.so.1", "libkernstash-go.so.1"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
}

// A toolchain with another poller than those that are known builds nothing, and what is said names those.
func TestUnknownToolchain(t *testing.T) {
	t.Parallel()
	known, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	goroot, out := t.TempDir(), t.TempDir()
	src := filepath.Join("src", "runtime")
	if err := os.MkdirAll(filepath.Join(goroot, src), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"netpoll.go", "netpoll_epoll.go", "netpoll_stub.go"} {
		b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(known)), src, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(goroot, src, name), append(b, "// changed\n"...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := cbuild.Root()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(root, "capi", "build"), out)
	cmd.Env = append(os.Environ(), "GOROOT="+goroot, "GOTOOLCHAIN=local")
	said, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(said), "replaces the poller of Go 1.26 and 1.27 (to 1.27.4), and that of go version go") {
		t.Errorf("%v\n%s", err, said)
	}
	if made, err := os.ReadDir(out); err != nil || len(made) > 0 {
		t.Errorf("%v, %v", made, err)
	}
}
