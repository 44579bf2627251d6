package agent

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash/agent/client"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/store/tiered"
	"github.com/kernstash/kernstash/trust"
)

// said is a log that tests read.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *said) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.b.String(), text)
}

func newKey(t testing.TB) (ed25519.PrivateKey, ed25519.PublicKey) {
	t.Helper()
	k, err := trust.Generate()
	must(t, err)
	return k, k.Public().(ed25519.PublicKey)
}

// signed are options of a server that asks for signatures, over a remote; nil: there is none.
func signed(o remote.Options, far remote.Objects) Options {
	o.Tenant = "default"
	return Options{
		Log:    o.Log,
		Signer: func(Tenant) (Signer, error) { return remote.New(nil, o), nil },
		Open: func(_ Tenant, near *disk.Store, to stats.Recorder) (Store, func(context.Context), error) {
			if far == nil {
				return nil, nil, nil
			}
			s := tiered.New(near, tiered.Options{
				Far: []tiered.Far{{Name: "far", Store: remote.New(far, o), ReadOnly: o.Sign == nil}}, Recorder: to, AbsentFor: time.Millisecond,
			})
			return s, func(context.Context) { s.Close() }, nil
		},
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what + ": never")
		}
	}
}

func missOf(err error) reason.Reason {
	if m, ok := errors.AsType[*store.MissError](err); ok {
		return m.Reason
	}
	return 0
}

// TestRevokedInTheNodeCache revokes the key of an entry that a running agent has fetched: it is a miss, until
// the remote has it under a key that counts.
func TestRevokedInTheNodeCache(t *testing.T) {
	t.Parallel()
	lost, lostPublic := newKey(t)
	kept, keptPublic := newKey(t)
	dir := filepath.Join(t.TempDir(), "trust")
	for _, k := range []ed25519.PublicKey{lostPublic, keptPublic} {
		_, err := trust.Add(dir, k)
		must(t, err)
	}
	far, ctx, log := new(remotetest.Memory), context.Background(), new(said)
	e := storetest.New(t, "revoked", 50_000)
	_, err := remote.New(far, remote.Options{Sign: lost}).Put(ctx, e)
	must(t, err)
	name, ownName := key.Digest{1}, key.Digest{2}
	content := (&manifest.Manifest{}).Append(nil, name)
	must(t, remote.New(far, remote.Options{Sign: lost}).PutBlob(ctx, store.Manifests, name, content))
	s, socket := start(t, signed(remote.Options{Trust: trust.Open(dir, true), Sign: kept, Log: slog.New(slog.NewTextHandler(log, nil))}, far))
	c, tenant := patient(socket), s.tenants[0]
	served := func() bool {
		before := tenant.hits.Load()
		_, err := c.Get(ctx, e.Key)
		return err == nil && tenant.hits.Load() > before
	}
	eventually(t, "it hits in the node cache", served)
	near := func() bool {
		b, err := tenant.near.GetBlob(ctx, store.Manifests, name)
		return err == nil && bytes.Equal(b, content)
	}
	_, err = c.GetBlob(ctx, store.Manifests, name)
	must(t, err)
	eventually(t, "the manifest is near", near)
	must(t, c.PutBlob(ctx, store.Manifests, ownName, (&manifest.Manifest{}).Append(nil, ownName)))

	_, err = trust.Revoke(dir, trust.Fingerprint(lostPublic))
	must(t, err)
	began := time.Now()
	eventually(t, "it is a miss", func() bool {
		_, err := c.Get(ctx, e.Key)
		return missOf(err) == reason.MissUntrusted
	})
	t.Logf("a miss %v after the key was revoked", time.Since(began))
	for range 20 {
		if _, err := c.Get(ctx, e.Key); missOf(err) != reason.MissUntrusted {
			t.Errorf("later: %v", err)
		}
	}
	if _, err := c.GetBlob(ctx, store.Manifests, name); missOf(err) != reason.MissUntrusted || near() {
		t.Errorf("the manifest: %v", err)
	}
	_, err = c.GetBlob(ctx, store.Manifests, ownName)
	must(t, err)
	if n := tenant.untrusted.Load(); n < 21 {
		t.Errorf("%d are counted", n)
	}
	if n := log.count("what a node cache holds is not trusted"); n != 1 {
		t.Errorf("said %d times", n)
	}

	_, err = remote.New(far, remote.Options{Sign: kept, Trust: trust.Of(keptPublic)}).Put(ctx, storetest.New(t, "revoked", 50_000))
	must(t, err)
	eventually(t, "what another key has signed hits in its place", served)
	must(t, remote.New(far, remote.Options{Sign: kept}).PutBlob(ctx, store.Manifests, name, content))
	eventually(t, "so does the manifest", func() bool {
		_, err := c.GetBlob(ctx, store.Manifests, name)
		return err == nil && near()
	})
}

// TestSpoiledSeals changes, swaps and takes away what stands with the entries of a node cache. No remote has them.
func TestSpoiledSeals(t *testing.T) {
	t.Parallel()
	k, public := newKey(t)
	stranger, _ := newKey(t)
	ctx := context.Background()
	bins := func(e *store.Entry) []byte {
		b, err := format.EncodeBin(e.Key, e.Artifact)
		must(t, err)
		return bytes.Join(b.Parts, nil)
	}
	withSeal := func(e *store.Entry, head []byte) []byte {
		b, err := format.EncodeSealedSrc(e.Recipe, head)
		must(t, err)
		return b
	}
	of := func(e *store.Entry, by ed25519.PrivateKey, tenant string) []byte {
		c := *e
		must(t, remote.New(nil, remote.Options{Tenant: tenant, Sign: by}).Seal(&c))
		return c.Seal.Head
	}
	evil := func(e *store.Entry) *store.Entry { // of the same key, with other code
		c := *e
		c.Artifact = e.Artifact.Clone()
		c.Artifact.Binaries[0].Data[0] ^= 1
		return &c
	}
	type files struct{ bin, src []byte }
	for name, spoil := range map[string]func(e, other *store.Entry) files{
		"none, as of an older agent": func(e, _ *store.Entry) files {
			b, err := format.EncodeSrc(e.Recipe)
			must(t, err)
			return files{nil, b}
		},
		"that of another entry":               func(e, o *store.Entry) files { return files{nil, withSeal(e, of(o, k, "default"))} },
		"the recipe of another entry, too":    func(_, o *store.Entry) files { return files{nil, withSeal(o, of(o, k, "default"))} },
		"cut":                                 func(e, _ *store.Entry) files { return files{nil, withSeal(e, of(e, k, "default")[:300])} },
		"of another tenant":                   func(e, _ *store.Entry) files { return files{nil, withSeal(e, of(e, k, "other"))} },
		"of a stranger":                       func(e, _ *store.Entry) files { return files{nil, withSeal(e, of(e, stranger, "default"))} },
		"of other code":                       func(e, _ *store.Entry) files { return files{nil, withSeal(e, of(evil(e), k, "default"))} },
		"other code, with digests of its own": func(e, _ *store.Entry) files { return files{bins(evil(e)), nil} },
		"no file":                             func(*store.Entry, *store.Entry) files { return files{nil, []byte{}} },
		"hostile":                             func(e, _ *store.Entry) files { return files{nil, withSeal(e, bytes.Repeat([]byte{0xff}, 8<<10))} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, socket := start(t, signed(remote.Options{Trust: trust.Of(public), Sign: k}, nil))
			c := patient(socket)
			e, other := storetest.New(t, "e", 5000), storetest.New(t, "other", 5000)
			for _, e := range []*store.Entry{e, other} {
				if e.Artifact.Created.IsZero() {
					e.Artifact.Created = time.Unix(1, 0)
				}
				res, err := c.Put(ctx, e)
				if must(t, err); res != store.Stored {
					t.Fatal(res)
				}
				_, err = c.Get(ctx, e.Key)
				must(t, err)
			}
			leaf := filepath.Join(append([]string{s.o.Dir, "default"}, dirs(e.Key)...)...)
			f := spoil(e, other)
			if f.bin != nil {
				must(t, os.WriteFile(filepath.Join(leaf, "0.bin"), f.bin, 0o600))
			}
			if f.src != nil {
				must(t, os.WriteFile(filepath.Join(leaf, "0.src"), f.src, 0o600))
			}
			if _, err := c.Get(ctx, e.Key); missOf(err) != reason.MissUntrusted {
				t.Errorf("%v", err)
			}
			_, err := c.Get(ctx, other.Key)
			must(t, err)
			if res, err := c.Put(ctx, e); res != store.Bettered || err != nil { // it makes place
				t.Errorf("%v, %v", res, err)
			}
			_, err = c.Get(ctx, e.Key)
			must(t, err)
		})
	}
}

func dirs(k key.Key) []string {
	d := k.Dirs()
	return d[:]
}

// TestUploadsAreSealedOnce: what is uploaded is what stands in the node cache.
func TestUploadsAreSealedOnce(t *testing.T) {
	t.Parallel()
	k, public := newKey(t)
	far, ctx := new(remotetest.Memory), context.Background()
	s, socket := start(t, signed(remote.Options{Trust: trust.Of(public), Sign: k}, far))
	e := storetest.New(t, "up", 50_000)
	_, err := patient(socket).Put(ctx, e)
	must(t, err)
	eventually(t, "it is uploaded", func() bool { return len(far.Names()) == 1 })
	head, err := s.tenants[0].near.Seal(ctx, e.Key)
	must(t, err)
	if len(head) == 0 || !bytes.HasPrefix(far.Object(far.Names()[0]), head) {
		t.Error("another signature is in the remote")
	}
}

// TestNoKeyToSignWith: an agent that asks for signatures and cannot make them takes nothing, and hands out what others have signed.
func TestNoKeyToSignWith(t *testing.T) {
	t.Parallel()
	k, public := newKey(t)
	other, _ := newKey(t)
	ctx := context.Background()
	for name, mine := range map[string]ed25519.PrivateKey{"no key": nil, "a key that nobody trusts": other} {
		far, log := new(remotetest.Memory), new(said)
		e, own := storetest.New(t, "theirs", 1000), storetest.New(t, "own", 1000)
		_, err := remote.New(far, remote.Options{Sign: k}).Put(ctx, e)
		must(t, err)
		s, socket := start(t, signed(remote.Options{Trust: trust.Of(public), Sign: mine, Log: slog.New(slog.NewTextHandler(log, nil))}, far))
		c := patient(socket)
		eventually(t, name+": it hits", func() bool {
			_, err := c.Get(ctx, e.Key)
			return err == nil && s.tenants[0].hits.Load() > 0
		})
		if res, err := c.Put(ctx, own); res != store.Failed || !errors.Is(err, client.ErrRefused) {
			t.Errorf("%s: put: %v, %v", name, res, err)
		}
		if _, err := c.Lock(ctx, own.Key, 0); !errors.Is(err, client.ErrRefused) {
			t.Errorf("%s: lock: %v", name, err)
		}
		var st Status
		_, err = c.Status(ctx, &st)
		must(t, err)
		if st.Tenants[0].Write || log.count("no trusted key to sign with") != 1 {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

// TestTimingSignedHit is TestTimingHit where the signature is looked at.
func TestTimingSignedHit(t *testing.T) {
	timing.Only(t)
	k, public := newKey(t)
	s, socket := start(t, signed(remote.Options{Trust: trust.Of(public), Sign: k}, nil))
	plain := disk.New(disk.Options{Dir: filepath.Join(t.TempDir(), "root")})
	defer plain.Close()
	compareHits(t, plain, s, socket)
}
