package agent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/agent/client"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/memory"
	"github.com/kernstash/kernstash/store/storetest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// own is the tenant of who runs the tests.
func own() []Tenant {
	return []Tenant{{Name: "default", UIDs: []uint32{uint32(os.Geteuid())}, Write: true}}
}

// shortDir returns a directory whose path fits into a socket's address.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ks-agent-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// start starts a server, and returns the path of its socket.
func start(t testing.TB, o Options) (*Server, string) {
	t.Helper()
	dir := shortDir(t)
	if o.Dir == "" {
		o.Dir = filepath.Join(dir, "node")
	}
	if o.Tenants == nil {
		o.Tenants = own()
	}
	s, err := New(o)
	must(t, err)
	socket := filepath.Join(dir, "agent.sock")
	l, err := Listen(socket, o.Everybody(os.Geteuid()))
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		s.Shutdown(ctx)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, socket
}

// patient returns a client that waits longer than an application would: tests run beside others.
func patient(socket string) *client.Client {
	return client.New(client.Options{Paths: []string{socket}, Timeout: time.Minute})
}

func TestEntriesAreShared(t *testing.T) {
	t.Parallel()
	_, socket := start(t, Options{})
	one, other := patient(socket), patient(socket)
	ctx := context.Background()
	for _, size := range []int{1, 50_000, 5 << 20} {
		e := storetest.New(t, "shared"+strconv.Itoa(size), size)
		e.Artifact.Variants = []string{"8"}
		if _, err := other.Get(ctx, e.Key); !isMiss(err) {
			t.Fatalf("before: %v", err)
		}
		if res, err := one.Put(ctx, e); res != store.Stored || err != nil {
			t.Fatalf("put: %v, %v", res, err)
		}
		if res, err := other.Put(ctx, e); res != store.Existing || err != nil {
			t.Errorf("put again: %v, %v", res, err)
		}
		got, err := other.Get(ctx, e.Key)
		must(t, err)
		if !bytes.Equal(got.Artifact.Binaries[0].Data, e.Artifact.Binaries[0].Data) || got.Key != e.Key || got.Artifact.Log != e.Artifact.Log {
			t.Errorf("%d bytes: got another artifact", size)
		}
		must(t, one.Delete(ctx, e.Key))
		if _, err := one.Get(ctx, e.Key); !isMiss(err) {
			t.Errorf("after it was deleted: %v", err)
		}
	}
}

func isMiss(err error) bool { return errors.Is(err, store.ErrNotFound) }

// over is a store over a node cache that has entries only farther away.
type over struct {
	*disk.Store
	far *memory.Store
}

func (o over) Get(ctx context.Context, k key.Key) (*store.Entry, error) {
	if e, err := o.Store.Get(ctx, k); err == nil {
		return e, nil
	}
	return o.far.Get(ctx, k)
}

// ahead is a store that fetches ahead.
type ahead struct {
	over
	begin func(app string)
}

func (a ahead) Prefetch(_ context.Context, app string) store.Prefetched {
	a.begin(app)
	return store.Prefetched{}
}

// What an application uses is fetched once for all who ask at the same time, and nobody waits for it.
func TestPrefetch(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan string, 100), make(chan struct{})
	s, socket := start(t, Options{Open: func(_ Tenant, near *disk.Store, _ stats.Recorder) (Store, func(context.Context), error) {
		a := ahead{over{near, memory.New(memory.Options{})}, func(app string) {
			begun <- app
			if <-goOn; app == "panics" {
				panic("a prefetch")
			}
		}}
		return a, func(context.Context) {}, nil
	}})
	c := patient(socket)
	ctx := context.Background()
	for _, app := range []string{"panics", "a", "a", "b", "a", "c", "d: one too many", "panics"} {
		must(t, c.Prefetch(ctx, app))
	}
	for _, app := range []string{"", strings.Repeat("x", 257)} {
		if err := c.Prefetch(ctx, app); !errors.Is(err, client.ErrRefused) {
			t.Errorf("%q: %v", app, err)
		}
	}
	got := make(map[string]int)
	for range 4 {
		got[<-begun]++
	}
	close(goOn)
	if diff := cmp.Diff(map[string]int{"panics": 1, "a": 1, "b": 1, "c": 1}, got); diff != "" || len(begun) > 0 {
		t.Error(diff)
	}
	// Later it is looked for again, and who asks for many is not remembered for ever.
	of := s.tenants[0]
	under := func() int {
		of.mu.Lock()
		defer of.mu.Unlock()
		return of.ahead
	}
	for under() > 0 {
		time.Sleep(time.Millisecond)
	}
	for i := range 3 * maxPrefetched {
		if done, ok := of.beginPrefetch(strconv.Itoa(i), time.Now()); ok {
			done()
		}
	}
	if n := len(of.prefetched); n > maxPrefetched {
		t.Errorf("%d are remembered", n)
	}
	later := time.Now().Add(prefetchPause)
	for want := range 2 {
		if _, ok := of.beginPrefetch("a", later); ok != (want == 0) {
			t.Errorf("begun: %v", ok)
		}
	}

	_, alone := start(t, Options{})
	if err := patient(alone).Prefetch(ctx, "a"); !errors.Is(err, client.ErrRefused) {
		t.Errorf("without a remote: %v", err)
	}
	if err := patient(socket+"x").Prefetch(ctx, "a"); !errors.Is(err, client.ErrAbsent) {
		t.Errorf("without an agent: %v", err)
	}
}

func TestFetchedFromFarther(t *testing.T) {
	t.Parallel()
	far := memory.New(memory.Options{})
	ended := false
	s, socket := start(t, Options{Open: func(_ Tenant, near *disk.Store, _ stats.Recorder) (Store, func(context.Context), error) {
		return over{near, far}, func(context.Context) { ended = true }, nil
	}})
	e := storetest.New(t, "far", 50_000)
	_, err := far.Put(context.Background(), e)
	must(t, err)
	got, err := patient(socket).Get(context.Background(), e.Key)
	must(t, err)
	if !bytes.Equal(got.Artifact.Binaries[0].Data, e.Artifact.Binaries[0].Data) {
		t.Error("got another artifact")
	}
	if n := s.tenants[0].fetched.Load(); n != 1 {
		t.Errorf("fetched %d", n)
	}
	s.Shutdown(context.Background())
	if !ended {
		t.Error("the store was not ended")
	}
}

func TestDamagedInTheNodeCache(t *testing.T) {
	t.Parallel()
	far := memory.New(memory.Options{})
	dir := filepath.Join(shortDir(t), "node")
	_, socket := start(t, Options{Dir: dir, Open: func(_ Tenant, near *disk.Store, _ stats.Recorder) (Store, func(context.Context), error) {
		return over{near, far}, func(context.Context) {}, nil
	}})
	c, ctx, e := patient(socket), context.Background(), storetest.New(t, "damaged", 50_000)
	_, err := c.Put(ctx, e)
	must(t, err)
	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
		if filepath.Ext(path) != ".bin" {
			return nil
		}
		b, err := os.ReadFile(path)
		must(t, err)
		b[len(b)-100] ^= 1
		return os.WriteFile(path, b, 0o600)
	}))
	if _, err := c.Get(ctx, e.Key); !isMiss(err) {
		t.Errorf("damaged: %v", err)
	}
	_, err = far.Put(ctx, e)
	must(t, err)
	got, err := c.Get(ctx, e.Key)
	must(t, err)
	if !bytes.Equal(got.Artifact.Binaries[0].Data, e.Artifact.Binaries[0].Data) {
		t.Error("got another artifact")
	}
}

func TestManifests(t *testing.T) {
	t.Parallel()
	_, socket := start(t, Options{})
	c, ctx := patient(socket), context.Background()
	name := key.Digest{1, 2, 3}
	content := (&manifest.Manifest{}).Append(nil, name)
	if _, err := c.GetBlob(ctx, store.Manifests, name); !isMiss(err) {
		t.Errorf("before: %v", err)
	}
	must(t, c.PutBlob(ctx, store.Manifests, name, content))
	got, err := patient(socket).GetBlob(ctx, store.Manifests, name)
	must(t, err)
	if diff := cmp.Diff(content, got); diff != "" {
		t.Error(diff)
	}
	if err := c.PutBlob(ctx, store.Manifests, key.Digest{4}, content); !errors.Is(err, client.ErrRefused) {
		t.Errorf("a manifest under another name: %v", err)
	}
	if err := c.PutBlob(ctx, store.Headers, name, content); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a header: %v", err)
	}
}

func TestLocks(t *testing.T) {
	t.Parallel()
	_, socket := start(t, Options{})
	one, other, ctx := patient(socket), patient(socket), context.Background()
	k, another := storetest.New(t, "lock", 1).Key, storetest.New(t, "another", 1).Key
	unlock, err := one.Lock(ctx, k, 0)
	must(t, err)
	if _, err := other.Lock(ctx, k, 0); !errors.Is(err, store.ErrLocked) {
		t.Errorf("while it is held: %v", err)
	}
	if _, err := other.Lock(ctx, k, 20*time.Millisecond); !errors.Is(err, store.ErrLocked) {
		t.Errorf("after a while: %v", err)
	}
	free, err := other.Lock(ctx, another, 0)
	must(t, err)
	free()
	got := make(chan func())
	go func() {
		free, err := other.Lock(ctx, k, time.Minute)
		if err != nil {
			t.Error(err)
		}
		got <- free
	}()
	unlock()
	(<-got)()
	free, err = one.Lock(ctx, k, 0) // an unlock has happened when it returns
	must(t, err)
	free()
}

func TestTimingHit(t *testing.T) {
	timing.Only(t)
	s, socket := start(t, Options{Log: slog.New(slog.DiscardHandler)})
	compareHits(t, s.tenants[0].near, s, socket)
}

// compareHits compares hits through the agent with those of a store on disk.
func compareHits(t *testing.T, plain *disk.Store, s *Server, socket string) {
	t.Helper()
	ctx, e := context.Background(), storetest.New(t, "hit", 50_000)
	c := client.New(client.Options{Paths: []string{socket}})
	_, err := c.Put(ctx, e)
	must(t, err)
	_, err = plain.Put(ctx, e)
	must(t, err)
	least := func(get func(context.Context, key.Key) (*store.Entry, error)) time.Duration {
		best := time.Hour
		for range 200 {
			began := time.Now()
			if _, err := get(ctx, e.Key); err != nil {
				t.Fatal(err)
			}
			best = min(best, time.Since(began))
		}
		return best
	}
	var direct, through time.Duration = time.Hour, time.Hour
	for range 5 {
		direct, through = min(direct, least(plain.Get)), min(through, least(c.Get))
	}
	t.Logf("50 KB from disk %v, through the agent %v: + %v", direct, through, through-direct)
	if n := s.tenants[0].hits.Load(); n < 1000 {
		t.Errorf("%d were hits", n)
	}
	if through-direct > 150*time.Microsecond {
		t.Errorf("through the agent it takes %v more", through-direct)
	}
}
