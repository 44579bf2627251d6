package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/cbuild"
)

// A program that is linked with the library runs no thread of its before the first call,
// and does without where the library in Go is not there, or is none, or of another release.
func TestLoadsAtTheFirstCall(t *testing.T) {
	t.Parallel()
	lib := cbuild.Library(t)
	program := lib.Compile(t, []string{"testdata/load.c"})
	foreign := func(source string) func(string) error {
		return func(path string) error {
			c := path + ".c"
			if err := os.WriteFile(c, []byte(source), 0o600); err != nil {
				return err
			}
			return exec.Command(cbuild.CC(), "-shared", "-fPIC", "-o", path, c).Run()
		}
	}
	for name, c := range map[string]struct {
		put  func(path string) error // of libkernstash-go.so.1
		want string
	}{
		"whole":   {func(path string) error { return os.Symlink(lib.Go, path) }, "open, threads\n"},
		"missing": {func(string) error { return nil }, "libkernstash-go.so.1: cannot open shared object file"},
		"damaged": {func(path string) error { return os.WriteFile(path, []byte("\x7fELF"), 0o600) }, "libkernstash-go.so.1: file too short, no threads\n"},
		"foreign": {foreign("int other;"), "libkernstash-go.so.1 beside libkernstash.so.1 is of another release, no threads\n"},
		"newer":   {foreign("int ks_go_start(void) { return 0; }"), "libkernstash-go.so.1 beside libkernstash.so.1 is of another release, no threads\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b, err := os.ReadFile(lib.Library)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "libkernstash.so.1"), b, 0o600)
			}
			if err == nil {
				err = c.put(filepath.Join(dir, "libkernstash-go.so.1"))
			}
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program)
			cmd.Env = []string{"LD_LIBRARY_PATH=" + dir, "KERNSTASH_DIR=" + filepath.Join(dir, "root")}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.HasPrefix(string(out), "threads 1\n") || !strings.Contains(string(out), c.want) {
				t.Errorf("%v: %q, want %q", err, out, c.want)
			}
		})
	}
}

// A first call may come from anywhere, at any time: it neither waits for ever nor fails.
func TestFirstCalls(t *testing.T) {
	t.Parallel()
	lib := cbuild.Library(t)
	program := lib.Compile(t, []string{"testdata/first.c"})
	plugin := lib.Compile(t, []string{"testdata/first.c"}, "-DPLUGIN", "-shared", "-fPIC")
	for part, c := range map[string]struct {
		argument string
		want     []string
	}{
		"constructor":  {plugin, []string{"constructor: cache\n", "main: cache\n"}},
		"main ends":    {"", []string{"thread: cache\n"}},
		"thread-local": {"", []string{"main: cache\n"}},
		"vfork":        {"", []string{"parent: cache\n"}},
		"elsewhere":    {"/", []string{"main: cache\n"}},
		"linking":      {plugin, []string{"parent: cache\n"}},
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, program)
			if err := os.Symlink(lib.Dir, filepath.Join(h.dir, "lib")); err != nil {
				t.Fatal(err)
			}
			cmd := h.command(part, "LD_LIBRARY_PATH=lib")
			cmd.Args = append(cmd.Args, c.argument)
			stuck := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
			defer stuck.Stop()
			out, err := cmd.CombinedOutput()
			for _, want := range c.want {
				if err != nil || !strings.Contains(string(out), want) {
					t.Errorf("%v: %q, want %q", err, out, want)
				}
			}
		})
	}
}

// The two libraries of a release find each other by a number, which changes with what they hand
// to each other.
func TestPrivateInterface(t *testing.T) {
	t.Parallel()
	h := sha256.New()
	for _, name := range []string{
		"kernstash.h", "internal.h", "kernstash_front.h",
	} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		h.Write(b)
	}
	const want = "66be8d35b36081d2"
	if got := hex.EncodeToString(h.Sum(nil)[:8]); got != want {
		t.Errorf("the headers between the two libraries are others (%s, not %s): raise ks_private in internal.h, then write the new digest here", got, want)
	}
}
