package node

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/agent"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/remotes"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// TestTenantsOfRemotes: the setting tenant is that of an agent without tenants. A tenant that is called
// "default" in a configuration is no other's.
func TestTenantsOfRemotes(t *testing.T) {
	t.Parallel()
	img, err := key.NewImage(key.OpenCLC, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	r := &key.Recipe{Device: key.Device{API: "opencl", Platform: "P", Name: "D", Driver: "1"}, Image: img}
	e := &store.Entry{Key: r.Key(), Recipe: r, Artifact: &store.Artifact{Binaries: []store.Binary{{Form: store.FormFinal, Data: []byte("code")}}}}
	for _, tt := range []struct {
		name  string
		alone bool
		sign  string
		want  []string
	}{
		{"default", true, "", []string{"blue"}},
		{"default", false, "", []string{"default"}},
		{"red", false, "", []string{"red"}},
		{"red", false, filepath.Join(t.TempDir(), "none.pem"), nil}, // it serves, and puts nothing unsigned
	} {
		objects := t.TempDir()
		s, err := settings.Load(settings.Inputs{Flags: map[string]string{"remote": "file://" + objects, "tenant": "blue", "trust": ""}})
		if err != nil {
			t.Fatal(err)
		}
		near := disk.New(disk.Options{Dir: filepath.Join(t.TempDir(), "root")})
		defer near.Close()
		far, end, err := (&tenants{s, tt.alone, slog.New(slog.DiscardHandler), make(map[string]remotes.Config)}).open(agent.Tenant{Name: tt.name, Sign: tt.sign}, near, new(stats.Counters))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := far.Put(t.Context(), e); err != nil {
			t.Error(err)
		}
		end(t.Context())
		tenants, _ := os.ReadDir(filepath.Join(objects, "v1"))
		var got []string
		for _, tenant := range tenants {
			got = append(got, tenant.Name())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s, alone %v, signed by %q (-want +got)\n%s", tt.name, tt.alone, tt.sign, diff)
		}
	}
}
