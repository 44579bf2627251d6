package cache

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/agent"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/store/tiered"
)

func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ks-cache-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func open(t *testing.T, environ ...string) *Cache {
	t.Helper()
	c, err := Open(Options{Settings: settings.Inputs{Environ: append(environ, "KERNSTASH_DIR="+filepath.Join(t.TempDir(), "root"))}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// serve has an agent serve the own user.
func serve(t *testing.T, socket, dir string) {
	t.Helper()
	s, err := agent.New(agent.Options{Dir: dir, Tenants: []agent.Tenant{{Name: "default", UIDs: []uint32{uint32(os.Geteuid())}, Write: true}}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := agent.Listen(socket, false)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { s.Shutdown(context.Background()) })
}

// TestAgent stores in one cache, and gets in another that shares nothing with it but the agent.
func TestAgent(t *testing.T) {
	t.Parallel()
	dir := socketDir(t)
	socket := filepath.Join(dir, "agent.sock")
	serve(t, socket, filepath.Join(dir, "node"))
	ctx, e := context.Background(), storetest.New(t, "agent", 50_000)
	one, other := open(t, "KERNSTASH_AGENT="+socket), open(t, "KERNSTASH_AGENT="+socket)
	if _, err := one.Store().Get(ctx, e.Key); !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	unlock, err := one.Store().Lock(ctx, e.Key, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Store().Lock(ctx, e.Key, 0); !errors.Is(err, store.ErrLocked) {
		t.Errorf("both have the lock: %v", err)
	}
	if _, err := one.Store().Put(ctx, e); err != nil {
		t.Fatal(err)
	}
	unlock()
	free, err := other.Store().Lock(ctx, e.Key, time.Minute) // who built has uploaded by then
	if err != nil {
		t.Fatal(err)
	}
	free()
	got, err := other.Store().Get(ctx, e.Key)
	if err != nil || got.From != "the agent" {
		t.Fatalf("%+v, %v", got, err)
	}
	if n := other.Stats()[stats.RemoteHits]; n == 0 {
		t.Error("no hit was counted")
	}
	if n := one.Stats()[stats.LeasesWon]; n != 1 {
		t.Errorf("%d leases were counted", n)
	}
	if n, err := os.ReadDir(other.Settings().Dir); err == nil && strings.Contains(strings.Join(names(n), " "), e.Key.Dirs()[0]) {
		t.Error("what is on this machine was stored twice")
	}
}

func names(all []os.DirEntry) (names []string) {
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// TestHungAgent asks an agent that never answers: the first request waits for it, the others do not.
func TestHungAgent(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(socketDir(t), "agent.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := open(t, "KERNSTASH_AGENT="+socket)
	began := time.Now()
	for i := range 20 {
		e := storetest.New(t, string(rune('a'+i)), 1000)
		if _, err := c.Store().Get(context.Background(), e.Key); !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		unlock, err := c.Store().Lock(context.Background(), e.Key, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Store().Put(context.Background(), e); err != nil {
			t.Fatal(err)
		}
		unlock()
	}
	n := c.Stats()
	if n[stats.RemoteTimeouts] != 1 || n[stats.RemoteBreaks] != 1 || n[stats.RemoteSkipped] < 19 {
		t.Errorf("%d timeouts, %d breaks, %d skipped in %v", n[stats.RemoteTimeouts], n[stats.RemoteBreaks], n[stats.RemoteSkipped], time.Since(began))
	}
}

// TestWithoutAgent looks at what a process without an agent pays: it looks for the socket when
// something is not on disk, once, and nothing is counted.
func TestWithoutAgent(t *testing.T) {
	t.Parallel()
	dir := socketDir(t)
	socket := filepath.Join(dir, "agent.sock")
	early, late := open(t, "KERNSTASH_AGENT="+socket), open(t, "KERNSTASH_AGENT="+socket)
	ctx, e := context.Background(), storetest.New(t, "without", 1000)
	began := time.Now()
	if _, err := early.Store().Get(ctx, e.Key); !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	serve(t, socket, filepath.Join(dir, "node"))
	if _, err := late.Store().Put(ctx, e); err != nil {
		t.Fatal(err)
	}
	if s, ok := late.Store().(*tiered.Store); !ok || !s.Flush(time.Now().Add(time.Minute)) {
		t.Fatal("not uploaded")
	}
	for range 20 {
		_, err := early.Store().Get(ctx, e.Key)
		if time.Since(began) > 5*time.Second {
			break // it may look again by now
		}
		if !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("it looked again: %v", err)
		}
	}
	n := early.Stats()
	for c := stats.RemoteHits; int(c) < stats.NumCounters; c++ {
		if n[c] != 0 {
			t.Errorf("%s: %d", c, n[c])
		}
	}
	if n := late.Stats(); n[stats.RemotePuts] != 1 {
		t.Errorf("%d puts, of a process that looked when there was one: %+v", n[stats.RemotePuts], n)
	}
}

func TestAgentOff(t *testing.T) {
	t.Parallel()
	for _, environ := range [][]string{{"KERNSTASH_AGENT=off"}, {"KERNSTASH_DISABLE=1"}, {"KERNSTASH_PERSISTENT=0"}} {
		if c := open(t, environ...); c.agent != nil {
			t.Errorf("%v: there is one", environ)
		}
	}
}
