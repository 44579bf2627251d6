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

// keysIn makes a key that signs, in a file, and a list that has it, in a directory.
func keysIn(t *testing.T, dir, name string) (own, list string) {
	t.Helper()
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

// TestRemotesOfTenants: what a tenant of an agent hands over is its own in the remotes, signed and believed by its own keys.
func TestRemotesOfTenants(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	signOne, trustOne := keysIn(t, dir, "one")
	signTwo, trustTwo := keysIn(t, dir, "two")
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

// TestSigners: who asks for signatures in the node cache of a tenant.
func TestSigners(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sign, list := keysIn(t, dir, "own")
	_, others := keysIn(t, dir, "others")
	for name, tt := range map[string]struct {
		remote, trust string // of the settings
		tenant        agent.Tenant
		want          string
	}{
		"no remote":                         {"", "", agent.Tenant{}, "nobody"},
		"no remote, a list of the settings": {"", list, agent.Tenant{Sign: sign}, "nobody"}, // it is for remotes
		"no remote, a list of its own":      {"", "", agent.Tenant{Sign: sign, Trust: list}, "asks, signs"},
		"a remote":                          {"file://" + dir, "", agent.Tenant{}, "takes all"},
		"a remote of its own":               {"", list, agent.Tenant{Remote: "file://" + dir}, "asks"},
		"a list of the settings":            {"file://" + dir, list, agent.Tenant{Sign: sign}, "asks, signs"},
		"no key":                            {"file://" + dir, list, agent.Tenant{}, "asks"},
		"a key that is not there":           {"file://" + dir, list, agent.Tenant{Sign: filepath.Join(dir, "none.pem")}, "asks"},
		"its own list before the settings'": {"file://" + dir, list, agent.Tenant{Sign: sign, Trust: others}, "asks"},
	} {
		s, err := settings.Load(settings.Inputs{Flags: map[string]string{"remote": tt.remote, "trust": tt.trust, "remote-sign-key": ""}})
		if err != nil {
			t.Fatal(err)
		}
		tt.tenant.Name = "a"
		of, err := (&tenants{s, false, slog.New(slog.DiscardHandler), make(map[string]remotes.Config)}).signer(tt.tenant)
		got := "nobody"
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case of == nil:
		case of.Signs() && of.Asks():
			got = "asks, signs"
		case of.Asks():
			got = "asks"
		default:
			got = "takes all"
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
