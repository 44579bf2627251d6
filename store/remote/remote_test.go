package remote_test

import (
	"crypto/ed25519"
	"testing"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/trust"
)

func public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

// oneByOne hides what an engine offers beyond Objects.
type oneByOne struct{ remote.Objects }

func TestRemoteStoreContract(t *testing.T) {
	t.Parallel()
	private := generate(t)
	signed := remote.Options{Tenant: "team-1", Builder: "ci", Sign: private, Trust: trust.Of(public(private))}
	for name, open := range map[string]func() *remote.Store{
		"default":    func() *remote.Store { return remote.New(new(remotetest.Memory), remote.Options{}) },
		"signed":     func() *remote.Store { return remote.New(new(remotetest.Memory), signed) },
		"one by one": func() *remote.Store { return remote.New(oneByOne{new(remotetest.Memory)}, remote.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(*testing.T) store.Store { return open() })
		})
	}
}

func generate(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	k, err := trust.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return k
}
