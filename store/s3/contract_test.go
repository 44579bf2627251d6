package s3_test

import (
	"crypto/ed25519"
	"testing"

	"github.com/kernstash/kernstash/internal/needs/versitygw"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/s3"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/trust"
)

// fresh returns what opens an empty bucket of a server that lives as long as t.
var fresh = map[string]func(t *testing.T) func(t *testing.T) *s3.Objects{
	"fake": func(*testing.T) func(t *testing.T) *s3.Objects {
		return func(t *testing.T) *s3.Objects { return open(t, newFake(t).url, fakeKeys) }
	},
	"versitygw": func(t *testing.T) func(t *testing.T) *s3.Objects {
		server := versitygw.Start(t)
		return func(t *testing.T) *s3.Objects {
			return open(t, server.URL(server.Bucket(t, "")+"/kernstash"), keys(server.User))
		}
	},
}

func TestContractOfObjects(t *testing.T) {
	t.Parallel()
	for name, start := range fresh {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			empty := start(t)
			remotetest.RunObjects(t, func(t *testing.T) remote.Objects { return empty(t) })
		})
	}
}

// What is signed is stored as what is not, so the real server shows it once.
func TestContractOfStore(t *testing.T) {
	t.Parallel()
	private, err := trust.Generate()
	if err != nil {
		t.Fatal(err)
	}
	options := map[string]remote.Options{
		"fake":      {},
		"versitygw": {Tenant: "team-1", Builder: "ci", Sign: private, Trust: trust.Of(private.Public().(ed25519.PublicKey))},
	}
	for name, start := range fresh {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			empty := start(t)
			storetest.Run(t, func(t *testing.T) store.Store { return remote.New(empty(t), options[name]) })
		})
	}
}

func TestFlow(t *testing.T) {
	t.Parallel()
	for name, start := range fresh {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remotetest.RunFlow(t, start(t)(t), true)
		})
	}
}
