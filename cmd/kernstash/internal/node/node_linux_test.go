package node

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/agent/client"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestTenantOfTheSetting: the setting tenant names who runs an agent without a configuration, and no tenant that a configuration has, so
// that nobody's entries are put where another tenant's are.
func TestTenantOfTheSetting(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ tenants, want string }{
		"no tenants":  {"", "team"},
		"of its name": {fmt.Sprintf(`"tenants": [{"name": "default", "users": ["%d"], "write": true}]`, os.Geteuid()), "default"},
		"others":      {fmt.Sprintf(`"tenants": [{"name": "users", "users": ["%d"], "write": true}]`, os.Geteuid()), "users"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "ks") // a socket's path is short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			config, socket, objects := filepath.Join(dir, "agent.json"), filepath.Join(dir, "a.sock"), filepath.Join(dir, "objects")
			for _, err := range []error{
				os.WriteFile(config, []byte("{"+tt.tenants+"}"), 0o600), os.WriteFile(filepath.Join(dir, "settings"), []byte("{}"), 0o600), os.Mkdir(objects, 0o700),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			app := &cli.App{Out: io.Discard, Stream: io.Discard, Err: io.Discard, Global: cli.Global{
				Dir: filepath.Join(dir, "node"), Config: filepath.Join(dir, "settings"),
				Set: []string{"remote=file://" + objects, "tenant=team", "remote-timeout=1m"},
			}}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- Run(ctx, app, Options{File: config, Socket: socket}) }()
			e := storetest.New(t, "e", 100)
			sum := e.Key.Sum.String()
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
				// Again and again, by clients that do not remember that there was no agent yet.
				_, _ = client.New(client.Options{Paths: []string{socket}, Timeout: time.Minute}).Put(t.Context(), e)
				found, err := filepath.Glob(filepath.Join(objects, "v1", "*", sum[:2], sum))
				if err != nil {
					t.Fatal(err)
				}
				if len(found) > 0 {
					if want := filepath.Join(objects, "v1", tt.want, sum[:2], sum); len(found) != 1 || found[0] != want {
						t.Errorf("it is at %v, want %s", found, want)
					}
					break
				}
				if time.Now().After(deadline) || len(ended) > 0 {
					t.Error("it is not uploaded")
					break
				}
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}
