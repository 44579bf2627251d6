package bundles_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/kernstash/kernstash/bundle"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/bundles"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/storetest"
)

// app returns a run of the command, and what it writes.
func app() (a *cli.App, out, messages *bytes.Buffer) {
	out, messages = new(bytes.Buffer), new(bytes.Buffer)
	return &cli.App{In: strings.NewReader(""), Stream: out, Out: out, Err: messages}, out, messages
}

// made returns a bundle of an entry.
func made(t *testing.T) (file string, e *store.Entry) {
	t.Helper()
	dir := t.TempDir()
	e = storetest.New(t, "one", 100_000)
	d := disk.New(disk.Options{Dir: filepath.Join(dir, "cache")})
	if _, err := d.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "kernels.kst")
	a, _, _ := app()
	if err := bundles.Create(t.Context(), a, []string{filepath.Join(dir, "cache")}, file, bundles.CreateOptions{By: "0.1.0"}); err != nil {
		t.Fatal(err)
	}
	return file, e
}

// dockerRegistry starts Debian's registry on loopback, and returns its address.
func dockerRegistry(t *testing.T) string {
	t.Helper()
	program := needs.Tool(t, "docker-registry", "docker-registry")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	config := fmt.Sprintf("version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: %s\nhttp:\n  addr: %s\n", dir, address)
	if err := os.WriteFile(filepath.Join(dir, "config.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, "serve", filepath.Join(dir, "config.yml"))
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for range 300 {
		if r, err := http.Get("http://" + address + "/v2/"); err == nil {
			r.Body.Close()
			return address
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the registry does not answer")
	return ""
}

// TestRegistries: what is pushed to a registry is pulled from it, and other tools make of it a
// directory that hits.
func TestRegistries(t *testing.T) {
	t.Parallel()
	file, e := made(t)
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, start := range map[string]func(*testing.T) string{
		"docker-registry": dockerRegistry,
		"go-containerregistry": func(t *testing.T) string {
			s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
			t.Cleanup(s.Close)
			return strings.TrimPrefix(s.URL, "http://")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reference := start(t) + "/team/kernels:580"
			a, out, _ := app()
			if err := bundles.Push(t.Context(), a, file, reference, nil); err != nil {
				t.Fatal(err)
			}
			_, pushed, _ := strings.Cut(strings.TrimSpace(out.String()), ": ")
			dir := t.TempDir()
			a, out, _ = app()
			pulled := filepath.Join(dir, "pulled.kst")
			if err := bundles.Pull(t.Context(), a, reference, pulled, nil); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(pulled); err != nil || !bytes.Equal(got, want) {
				t.Errorf("another bundle was pulled, %v", err)
			}
			if _, got, _ := strings.Cut(strings.TrimSpace(out.String()), ": "); got != pushed || !strings.Contains(got, "@sha256:") {
				t.Errorf("pulled %s, pushed %s", got, pushed)
			}
			a, _, _ = app()
			if err := bundles.Pull(t.Context(), a, reference+"0", filepath.Join(dir, "none.kst"), nil); err == nil {
				t.Error("pulled what is not there")
			}
			for _, args := range [][]string{
				{needs.Tool(t, "skopeo", "skopeo"), "copy", "--insecure-policy", "--src-tls-verify=false", "docker://" + reference, "oci:" + dir + "/oci:latest"},
				{needs.Tool(t, "umoci", "umoci"), "unpack", "--rootless", "--image", dir + "/oci:latest", dir + "/out"},
			} {
				if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", args, err, out)
				}
			}
			layer := disk.New(disk.Options{Dir: filepath.Join(dir, "out", "rootfs"), ReadOnly: true})
			if _, err := layer.Get(t.Context(), e.Key); err != nil {
				t.Errorf("what was unpacked does not hit: %v", err)
			}
			if _, err := bundle.OpenDir(layer.Dir(), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPullOfOthers: what is no bundle, or not signed by who should have, gets no name.
func TestPullOfOthers(t *testing.T) {
	t.Parallel()
	file, _ := made(t)
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer s.Close()
	reference := strings.TrimPrefix(s.URL, "http://") + "/team/kernels"
	a, _, _ := app()
	if err := bundles.Push(t.Context(), a, file, reference, nil); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := bundles.Keygen(a, filepath.Join(dir, "key")); err != nil {
		t.Fatal(err)
	}
	if err := bundles.Pull(t.Context(), a, reference, filepath.Join(dir, "out.kst"), []string{filepath.Join(dir, "key.pub.pem")}); err == nil {
		t.Error("a bundle without a signature was pulled")
	}
	if _, err := os.Stat(filepath.Join(dir, "out.kst")); err == nil {
		t.Error("it has its name")
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
