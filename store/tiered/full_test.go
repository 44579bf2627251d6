package tiered_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/servers"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/redis"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/lease"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/store/tiered"
	"github.com/kernstash/kernstash/trust"
)

// behindRedis returns a machine with a Redis, and an engine behind it.
func behindRedis(t *testing.T, o *redis.Objects, behind *remotetest.Memory) *machine {
	t.Helper()
	var far []tiered.Far
	for i, e := range []engine{o, behind} {
		s := remote.New(e, remote.Options{})
		l := lease.New(e, lease.Options{Name: s.LeaseName, Timeout: time.Minute})
		t.Cleanup(func() { l.Close() })
		// The machine of the test may be busy.
		far = append(far, tiered.Far{Name: []string{"redis", "behind"}[i], Store: s, Locker: l, Timeout: time.Minute})
	}
	return newMachine(t, tiered.Options{Far: far})
}

func openRedis(t *testing.T, url string, o redis.Options) *redis.Objects {
	t.Helper()
	engine, err := redis.Open(url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

// Rule 11: what is too large for Redis goes to the store behind it alone, and is no trouble of Redis, which
// has what is small, and the leases, as before.
func TestTooLargeForOne(t *testing.T) {
	t.Parallel()
	o, behind := openRedis(t, servers.Redis(t), redis.Options{MaxSize: 20_000}), new(remotetest.Memory)
	a, b := behindRedis(t, o, behind), behindRedis(t, o, behind)
	for _, size := range []int{50_000, 1000} {
		e := storetest.New(t, fmt.Sprint(size), size)
		for i, m := range []*machine{a, b} {
			if built, err := build(t.Context(), m.Store, e, func() {}); err != nil || built != (i == 0) {
				t.Fatalf("%d bytes, machine %d: built %v, %v", size, i, built, err)
			}
			m.settle(t)
		}
		inRedis := false
		for _, err := range o.List(t.Context(), "v1/default/"+e.Key.Sum.String()[:2]+"/"+e.Key.Sum.String()) {
			if err != nil {
				t.Fatal(err)
			}
			inRedis = true
		}
		if inRedis != (size == 1000) {
			t.Errorf("%d bytes: in Redis %v", size, inRedis)
		}
		for _, m := range []*machine{a, b} {
			if n := m.counts.Snapshot(); n[stats.RemoteErrors] != 0 || n[stats.RemoteBreaks] != 0 || n[stats.RemotePutsDropped] != 0 {
				t.Errorf("%d bytes: %d errors, %d breaks, %d dropped", size, n[stats.RemoteErrors], n[stats.RemoteBreaks], n[stats.RemotePutsDropped])
			}
		}
	}
}

// Rule 12: a Redis that is full and may not evict (noeviction) is read still; no build fails, and what is
// built, and the lease for it, are in the store behind.
func TestFullRedis(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t, "--maxmemory-policy", "noeviction")
	o, behind := openRedis(t, "redis://"+s.Addr, redis.Options{}), new(remotetest.Memory)
	there := storetest.New(t, "there", 1000)
	if _, err := remote.New(o, remote.Options{}).Put(t.Context(), there); err != nil {
		t.Fatal(err)
	}
	if got := s.Do(t, "CONFIG SET maxmemory 100kb"); got != "+OK" { // less than it takes when it is empty
		t.Fatal(got)
	}
	if err := o.Put(t.Context(), "v1/others/a", []byte("x"), true); !errors.Is(err, remote.ErrFull) {
		t.Fatalf("it is not full: %v", err)
	}
	a, b := behindRedis(t, o, behind), behindRedis(t, o, behind)
	for i := range 3 {
		e := storetest.New(t, fmt.Sprint(i), 5000)
		for j, m := range []*machine{a, b} {
			if built, err := build(t.Context(), m.Store, e, func() {}); err != nil || built != (j == 0) {
				t.Errorf("entry %d, machine %d: built %v, %v", i, j, built, err)
			}
			m.settle(t)
		}
	}
	if got, err := a.Get(t.Context(), there.Key); err != nil || got.From != "redis" {
		t.Errorf("what is in Redis: %v, %v", got, err)
	}
	if n := a.counts.Snapshot(); n[stats.RemoteErrors] == 0 || n[stats.LeasesWon] != 3 {
		t.Errorf("%d errors, %d leases", n[stats.RemoteErrors], n[stats.LeasesWon])
	}
}

// What must stay in a remote, because it is signed and what is put is not, is no trouble of the remote.
func TestWhatStays(t *testing.T) {
	t.Parallel()
	_, signs, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	objects := new(remotetest.Memory)
	writer := remote.New(objects, remote.Options{Sign: signs})
	e := storetest.New(t, "e", 100)
	if _, err := writer.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	_, others, _ := ed25519.GenerateKey(nil)
	reader := remote.New(objects, remote.Options{Trust: trust.Of(others.Public().(ed25519.PublicKey))})
	m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: reader, Timeout: time.Minute}}})
	for range 3 {
		if res, err := m.Put(t.Context(), e); err != nil || res == store.Failed {
			t.Fatal(res, err)
		}
		m.settle(t)
		if err := m.near.Delete(t.Context(), e.Key); err != nil {
			t.Fatal(err)
		}
	}
	m.counted(t, nil)
	miss(t, m, e.Key, reason.MissUntrusted)
	if _, err := remote.New(objects, remote.Options{}).Get(t.Context(), e.Key); err != nil {
		t.Errorf("what stays: %v", err)
	}
}
