package redis

import (
	"crypto/ed25519"
	"testing"

	"github.com/kernstash/kernstash/internal/servers"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/trust"
)

func TestStoreContract(t *testing.T) {
	t.Parallel()
	private, err := trust.Generate()
	if err != nil {
		t.Fatal(err)
	}
	list := trust.Of(private.Public().(ed25519.PublicKey))
	storetest.Run(t, func(t *testing.T) store.Store {
		// It has entries that are larger than what is usually put into Redis.
		o := open(t, servers.Redis(t), Options{MaxSize: 64 << 20})
		return remote.New(o, remote.Options{Sign: private, Trust: list})
	})
}

func TestObjectsContract(t *testing.T) {
	t.Parallel()
	remotetest.RunObjects(t, func(t *testing.T) remote.Objects { return open(t, servers.Redis(t), Options{MaxSize: 64 << 20}) })
}
