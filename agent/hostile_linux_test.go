package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/agent/client"
	"github.com/kernstash/kernstash/agent/internal/protocol"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/store/tiered"
)

func dial(t testing.TB, socket string) *net.UnixConn {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	must(t, err)
	t.Cleanup(func() { c.Close() })
	must(t, c.SetDeadline(time.Now().Add(time.Minute)))
	return c
}

// head is a request's, with what stands behind it.
func head(op protocol.Op, size int, body string) string {
	return string(protocol.Request{Op: op, Timeout: time.Minute, Size: uint64(size)}.Append(nil)) + body
}

// encoded returns an entry as a client sends it.
func encoded(t testing.TB, e *store.Entry, changeBin, changeSrc func([]byte) []byte) string {
	t.Helper()
	b, err := format.EncodeBin(e.Key, e.Artifact)
	must(t, err)
	var bin []byte
	for _, p := range b.Parts {
		bin = append(bin, p...)
	}
	src, err := format.EncodeSrc(e.Recipe)
	must(t, err)
	if changeBin != nil {
		bin = changeBin(bin)
	}
	if changeSrc != nil {
		src = changeSrc(src)
	}
	body := string(protocol.AppendEntryHead(nil, int64(len(bin)))) + string(bin) + string(src)
	return head(protocol.Put, len(body), body)
}

// TestHostileClients sends what no client of ours would. Each is answered or dropped, nothing is
// stored, no memory stays taken, and others are served.
func TestHostileClients(t *testing.T) {
	t.Parallel()
	s, socket := start(t, Options{MaxPut: 1 << 20, limits: limits{head: time.Second, body: time.Second}})
	e, another := storetest.New(t, "hostile", 1000), storetest.New(t, "another", 1000)
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte {
			if at < 0 {
				at += len(b)
			}
			b[at] ^= 1
			return b
		}
	}
	cut := func(b []byte) []byte { return b[:len(b)-1] }
	// Of other code than the SHA-256 in the header says; all other digests are right.
	otherDigest := func(b []byte) []byte {
		h, err := format.ParseHeader(b, int64(len(b)))
		must(t, err)
		sum, digest := b[:h.HeaderBytes-sha256.Size], b[h.HeaderBytes-sha256.Size:]
		sum[bytes.Index(sum, h.Binaries[0].Digest[:])] ^= 1
		all := sha256.Sum256(sum)
		copy(digest, all[:])
		return b
	}
	ofAnother := func([]byte) []byte {
		src, err := format.EncodeSrc(another.Recipe)
		must(t, err)
		return src
	}
	for name, test := range map[string]struct {
		send string
		want protocol.Status // 0: the connection ends
	}{
		"nothing":                     {"", 0},
		"half a head":                 {"KSA1\x02", 0},
		"another protocol":            {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", protocol.Refused},
		"another op":                  {head(99, 0, ""), protocol.Refused},
		"a key too short":             {head(protocol.Get, 10, "0123456789"), protocol.Refused},
		"larger than the agent takes": {head(protocol.Put, 1<<20+1, ""), protocol.TooLarge},
		"a body that does not come":   {head(protocol.Put, 1<<20, "0123"), protocol.Refused},
		"an entry of zeros":           {head(protocol.Put, 100, strings.Repeat("\x00", 100)), protocol.Refused},
		"lengths that lie":            {head(protocol.Put, 100, strings.Repeat("\xff", 100)), protocol.Refused},
		"code changed":                {encoded(t, e, flip(-1), nil), protocol.Refused},
		"digest of the code changed":  {encoded(t, e, otherDigest, nil), protocol.Refused},
		"header changed":              {encoded(t, e, flip(70), nil), protocol.Refused},
		"artifact cut":                {encoded(t, e, cut, nil), protocol.Refused},
		"recipe changed":              {encoded(t, e, nil, flip(-1)), protocol.Refused},
		"recipe cut":                  {encoded(t, e, nil, cut), protocol.Refused},
		"recipe of another":           {encoded(t, e, nil, ofAnother), protocol.Refused},
		"no recipe":                   {encoded(t, e, nil, func([]byte) []byte { return nil }), protocol.Refused},
		"a manifest of zeros":         {head(protocol.PutManifest, 100, strings.Repeat("\x00", 100)), protocol.Refused},
		"a name without manifest":     {head(protocol.PutManifest, 32, strings.Repeat("n", 32)), protocol.Refused},
		"good, something follows":     {encoded(t, another, nil, nil) + "more", protocol.Done},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, socket)
			_, _ = io.WriteString(c, test.send)
			b := make([]byte, protocol.HeadBytes)
			if _, err := io.ReadFull(c, b); err != nil {
				if test.want != 0 {
					t.Errorf("no answer: %v", err)
				}
				return
			}
			a, err := protocol.ParseAnswer(b, protocol.MaxText)
			if err != nil || a.Status != test.want {
				t.Errorf("answer %+v, %v, want status %d", a, err, test.want)
			}
		})
	}
	t.Cleanup(func() {
		if _, err := s.tenants[0].near.Get(context.Background(), e.Key); !isMiss(err) {
			t.Errorf("something was stored: %v", err)
		}
	})
}

// TestFlood opens connections that say nothing. They get no more than what one user may have, and
// end; then others are served.
func TestFlood(t *testing.T) {
	t.Parallel()
	s, socket := start(t, Options{limits: limits{connsPerUser: 4, head: 5 * time.Second}})
	for range 100 {
		dial(t, socket)
	}
	c := patient(socket)
	e := storetest.New(t, "flood", 1)
	for err := errors.New(""); err != nil; { // the idle connections end by themselves
		_, err = c.Put(context.Background(), e)
		s.mu.Lock()
		for uid, u := range s.users {
			if u.conns > 4 {
				t.Errorf("user %d has %d connections", uid, u.conns)
			}
		}
		s.mu.Unlock()
	}
}

// TestSlowReader asks for much, and reads nothing: it ends, and nobody waits for it.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	far := bigStore{entry: storetest.New(t, "big", 8<<20)}
	s, socket := start(t, Options{limits: limits{memory: 20 << 20, body: time.Second}, Open: opener(func(near *disk.Store) Store {
		far.Store = near
		return far
	})})
	body := string(protocol.AppendKey(nil, far.entry.Key))
	for range 4 {
		_, err := io.WriteString(dial(t, socket), head(protocol.Get, len(body), body))
		must(t, err)
	}
	c := patient(socket)
	for err := errors.New(""); err != nil; {
		_, err = c.Get(context.Background(), far.entry.Key)
		if n := s.memory.Load(); n > 20<<20 {
			t.Errorf("%d bytes are taken", n)
		}
	}
}

func opener(over func(*disk.Store) Store) func(Tenant, *disk.Store, stats.Recorder) (Store, func(context.Context), error) {
	return func(_ Tenant, near *disk.Store, _ stats.Recorder) (Store, func(context.Context), error) {
		return over(near), func(context.Context) {}, nil
	}
}

type bigStore struct {
	*disk.Store
	entry *store.Entry
}

func (s bigStore) Get(context.Context, key.Key) (*store.Entry, error) { return s.entry, nil }

// panicking is a store with an error of its own.
type panicking struct{ *disk.Store }

func (panicking) Get(context.Context, key.Key) (*store.Entry, error) { panic("get") }
func (panicking) Put(context.Context, *store.Entry) (store.PutResult, error) {
	panic("put")
}

func TestPanic(t *testing.T) {
	t.Parallel()
	_, socket := start(t, Options{Open: opener(func(near *disk.Store) Store { return panicking{near} })})
	c, e := patient(socket), storetest.New(t, "panic", 1)
	for range 3 {
		if _, err := c.Get(context.Background(), e.Key); !isMiss(err) {
			t.Errorf("get: %v", err)
		}
		if _, err := c.Put(context.Background(), e); err == nil {
			t.Error("put did not fail")
		}
	}
	unlock, err := c.Lock(context.Background(), e.Key, 0)
	must(t, err)
	unlock()
}

// TestSlowStore asks for an entry that takes long to fetch: the asker gets an answer in time, and
// who asks later gets the entry.
func TestSlowStore(t *testing.T) {
	t.Parallel()
	slow := &slowStore{entry: storetest.New(t, "slow", 1000), ready: make(chan struct{})}
	_, socket := start(t, Options{Open: opener(func(near *disk.Store) Store {
		slow.Store = near
		return slow
	})})
	c := client.New(client.Options{Paths: []string{socket}, Timeout: 2 * time.Second})
	_, err := c.Get(context.Background(), slow.entry.Key)
	miss, ok := errors.AsType[*store.MissError](err)
	if !ok || miss.Reason != reason.MissRemote || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("in the first place: %v", err)
	}
	close(slow.ready)
	if _, err := patient(socket).Get(context.Background(), slow.entry.Key); err != nil {
		t.Errorf("later: %v", err)
	}
}

type slowStore struct {
	*disk.Store
	entry *store.Entry
	ready chan struct{}
}

func (s *slowStore) Get(ctx context.Context, _ key.Key) (*store.Entry, error) {
	select {
	case <-s.ready:
		return s.entry, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hung is a remote that swallows everything.
type hung struct {
	store.Store
	asked atomic.Int64
}

func (h *hung) Get(ctx context.Context, _ key.Key) (*store.Entry, error) {
	h.asked.Add(1)
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestDeadRemote has a remote that does not answer: the first application of the node waits, the
// others do not.
func TestDeadRemote(t *testing.T) {
	t.Parallel()
	far := new(hung)
	_, socket := start(t, Options{Open: opener(func(near *disk.Store) Store {
		return tiered.New(near, tiered.Options{Far: []tiered.Far{{Name: "hung", Store: far, Timeout: 500 * time.Millisecond}}})
	})})
	for i := range 20 {
		c := patient(socket) // as another process
		if _, err := c.Get(context.Background(), storetest.New(t, strconv.Itoa(i), 1).Key); !isMiss(err) {
			t.Fatal(err)
		}
	}
	if n := far.asked.Load(); n > 3 { // and it is probed now and then, which nobody waits for
		t.Errorf("the remote was asked %d times", n)
	}
}

// TestHungAgent has somebody who accepts, or not even that, and never answers.
func TestHungAgent(t *testing.T) {
	t.Parallel()
	for _, accepts := range []bool{true, false} {
		socket := filepath.Join(shortDir(t), "agent.sock")
		l, err := Listen(socket, false)
		must(t, err)
		defer l.Close()
		if accepts {
			var held []net.Conn
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for {
					c, err := l.AcceptUnix()
					if err != nil {
						return
					}
					held = append(held, c)
				}
			}()
			defer func() {
				l.Close()
				<-ended
				for _, c := range held {
					c.Close()
				}
			}()
		}
		const limit = 200 * time.Millisecond
		c := client.New(client.Options{Paths: []string{socket}, Timeout: limit})
		e := storetest.New(t, "hung", 1)
		began := time.Now()
		_, err = c.Get(context.Background(), e.Key)
		took := time.Since(began)
		if miss, ok := errors.AsType[*store.MissError](err); !ok || miss.Reason != reason.MissRemote || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("accepts %v: %v", accepts, err)
		}
		if took < limit/2 || took > 20*time.Second {
			t.Errorf("accepts %v: it took %v", accepts, took)
		}
		if _, err := c.Lock(context.Background(), e.Key, 0); err == nil || errors.Is(err, store.ErrLocked) {
			t.Errorf("accepts %v: lock: %v", accepts, err)
		}
	}
}

func TestNoAgent(t *testing.T) {
	t.Parallel()
	c := client.New(client.Options{Paths: []string{filepath.Join(t.TempDir(), "no", "agent.sock")}})
	e := storetest.New(t, "absent", 1)
	_, err := c.Get(context.Background(), e.Key)
	if miss, ok := errors.AsType[*store.MissError](err); !ok || miss.Reason != reason.MissAbsent || !errors.Is(err, client.ErrAbsent) {
		t.Error(err)
	}
	if _, err := c.Put(context.Background(), e); !errors.Is(err, client.ErrAbsent) {
		t.Error(err)
	}
}
