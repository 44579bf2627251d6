package node

import (
	"crypto/ed25519"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/agent"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/remotes"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/trust"
)

// TestRemotesOfTenants: what a tenant of an agent hands over is its own in the remotes, signed and believed by its own keys.
func TestRemotesOfTenants(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys := func(name string) (own, list string) {
		k, err := trust.Generate()
		if err != nil {
			t.Fatal(err)
		}
		private, _, err := trust.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		public, err := trust.MarshalPublic(k.Public().(ed25519.PublicKey))
		if err != nil {
			t.Fatal(err)
		}
		own, list = filepath.Join(dir, name+".pem"), filepath.Join(dir, name)
		for _, err := range []error{os.WriteFile(own, private, 0o600), os.Mkdir(list, 0o700), os.WriteFile(filepath.Join(list, "a.pem"), public, 0o600)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		return own, list
	}
	signOne, trustOne := keys("one")
	signTwo, trustTwo := keys("two")
	objects := filepath.Join(dir, "objects")
	if err := os.Mkdir(objects, 0o700); err != nil {
		t.Fatal(err)
	}
	s := &settings.Settings{}
	s.Remote, s.Tenant, s.RemoteTimeout = []string{"file://" + objects}, "users", time.Minute
	e := storetest.New(t, "e", 100)
	open := func(of agent.Tenant) (agent.Store, func()) {
		near := disk.New(disk.Options{Dir: filepath.Join(t.TempDir(), "near")})
		far, end, err := (&tenants{s, false, slog.New(slog.DiscardHandler), make(map[string]remotes.Config)}).open(of, near, new(stats.Counters))
		if err != nil {
			t.Fatal(err)
		}
		return far, func() {
			end(t.Context())
			near.Close()
		}
	}
	// reads returns why a tenant of another agent does not get the entry; 0: it does.
	reads := func(of agent.Tenant) reason.Reason {
		far, end := open(of)
		defer end()
		_, err := far.Get(t.Context(), e.Key)
		if miss, is := errors.AsType[*store.MissError](err); is {
			return miss.Reason
		}
		if err != nil {
			t.Fatal(err)
		}
		return 0
	}
	far, end := open(agent.Tenant{Name: "one", Sign: signOne, Trust: trustOne})
	if _, err := far.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if uploads, is := far.(interface{ Flush(time.Time) bool }); !is || !uploads.Flush(time.Now().Add(time.Minute)) {
		t.Fatal("it is not uploaded")
	}
	end()
	sum := e.Key.Sum.String()
	b, err := os.ReadFile(filepath.Join(objects, "v1/one", sum[:2], sum))
	if err != nil {
		t.Fatalf("it is not where the tenant's are: %v", err)
	}
	for name, tt := range map[string]struct {
		tenant agent.Tenant
		want   reason.Reason
	}{
		"its own":                    {agent.Tenant{Name: "one", Sign: signOne, Trust: trustOne}, 0},
		"another":                    {agent.Tenant{Name: "two", Sign: signTwo, Trust: trustTwo}, reason.MissAbsent},
		"its own, of other keys":     {agent.Tenant{Name: "one", Sign: signTwo, Trust: trustTwo}, reason.MissUntrusted},
		"the user's, without a list": {agent.Tenant{Name: "default"}, reason.MissAbsent},
	} {
		if got := reads(tt.tenant); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	// Nor does it help to copy it to where another's are.
	at := filepath.Join(objects, "v1/two", sum[:2])
	if err := errors.Join(os.MkdirAll(at, 0o700), os.WriteFile(filepath.Join(at, sum), b, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := reads(agent.Tenant{Name: "two", Sign: signTwo, Trust: trustOne}); got != reason.MissUntrusted {
		t.Errorf("moved: %v, want %v", got, reason.MissUntrusted)
	}
}
