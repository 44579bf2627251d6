// Package agent is the process of a node that fetches entries from remotes, and uploads them,
// for the applications of the node: it has the clients, the credentials and the keys, it
// remembers which remote is dead, and it keeps what it fetched in a node cache that all of a
// tenant share. Applications reach it by a unix socket (package agent/client).
//
// A tenant is a set of users that trust one another with code: what one of them hands over,
// the others load. Tenants see nothing of one another: each has a node cache and a store of
// its own, and which tenant a peer is of its credentials say, not what it sends. The node
// cache is the agent's alone. Applications get open files, not paths.
//
// There is an agent on Linux only.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// Store is where the entries of a tenant are: the node cache alone, or with remotes behind it.
type Store interface {
	store.Store
	store.Locker
	store.Blobs
}

// Signer signs what users of a tenant hand over, and says what of the node cache may be handed
// out. That of package store/remote is one.
type Signer interface {
	disk.Vetter
	Asks() bool                // reports whether signatures are asked for
	Signs() bool               // reports whether what is signed is let pass
	Seal(e *store.Entry) error // signs an entry
	SealBlob(manifest key.Digest, content []byte) (seal []byte, err error)
}

// Tenant is a set of users that share entries.
type Tenant struct {
	Name   string   // as the setting tenant
	UIDs   []uint32 // its users
	GIDs   []uint32 // whoever is of one of these groups is one, too
	Anyone bool     // everybody is but root, who has to be named
	Write  bool     // its users may hand entries over, and hold locks

	Remote, Sign, Trust string // for Options.Open
}

// Options configure a Server. Dir and Tenants are required.
type Options struct {
	Dir     string        // of the node caches, one below it for each tenant
	Tenants []Tenant      // the first that a peer is of counts
	MaxSize int64         // of each node cache, in bytes; 0: no limit
	MaxPut  int64         // of an entry, in bytes; 0: 1 GiB
	MaxAge  time.Duration // entries and manifests not used for longer go, once a day; 0: none for age

	// Open returns the store of a tenant over its node cache, and what is to be called, once,
	// when the server ends: it uploads what waits, until the context ends. Nil: there is no
	// remote.
	Open func(t Tenant, near *disk.Store, to stats.Recorder) (s Store, end func(context.Context), err error)

	// Signer returns who signs for a tenant, and is called before Open. Nil, or that it returns nil:
	// the node cache is without signatures.
	Signer func(Tenant) (Signer, error)

	Log     *slog.Logger // may be nil
	Version string       // of the program, for Status
	limits  limits
}

// limits bound what clients can take from the server.
type limits struct {
	conns, connsPerUser int           // that are answered at a time; of several tenants each has half of them
	strangers           int           // connections of users of no tenant, who are told so
	locksPerUser        int           // that are held
	memory              int64         // bytes of bodies, all clients together; a user has half of it
	head, body          time.Duration // for a client to send, or take, each
	fetch               time.Duration // of one that nobody waits for any more
	fetches             int           // that are under way for a tenant
	age                 time.Duration // until a node cache is first looked through
}

func defaults(l limits) limits {
	return limits{
		conns: cmp.Or(l.conns, 512), connsPerUser: cmp.Or(l.connsPerUser, 128), locksPerUser: cmp.Or(l.locksPerUser, 256),
		memory: cmp.Or(l.memory, 2<<30), head: cmp.Or(l.head, 2*time.Second), body: cmp.Or(l.body, 20*time.Second),
		fetch: cmp.Or(l.fetch, 30*time.Second), fetches: cmp.Or(l.fetches, 1024), age: cmp.Or(l.age, ageAfter), strangers: cmp.Or(l.strangers, 16),
	}
}

// Server answers applications. Make it with New, end it with Shutdown.
type Server struct {
	o       Options
	tenants []*tenant
	began   time.Time
	memory  atomic.Int64 // that bodies take

	stop    context.Context // ends with Shutdown
	ended   context.CancelFunc
	answers sync.WaitGroup

	warnings warnings

	mu       sync.Mutex
	users    map[uint32]*taken
	conns    map[*tenant]int // that are answered; nil: of strangers
	open     map[*net.UnixConn]struct{}
	listener net.Listener
}

// taken is what a user has taken.
type taken struct {
	conns, locks int
	memory       int64
}

// New opens the stores of all tenants. It touches no remote.
func New(o Options) (*Server, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.MaxPut = cmp.Or(o.MaxPut, 1<<30)
	o.limits = defaults(o.limits)
	s := &Server{o: o, began: time.Now(), users: make(map[uint32]*taken), conns: make(map[*tenant]int), open: make(map[*net.UnixConn]struct{})}
	s.stop, s.ended = context.WithCancel(context.Background())
	for _, t := range o.Tenants {
		opened, err := s.openTenant(t)
		if err != nil {
			s.Shutdown(s.stop)
			return nil, fmt.Errorf("tenant %q: %w", t.Name, err)
		}
		s.tenants = append(s.tenants, opened)
	}
	if len(s.tenants) == 0 {
		return nil, errors.New("the agent has no tenant: nobody could ask it")
	}
	for _, t := range s.tenants {
		s.answers.Add(1)
		go s.age(t)
	}
	return s, nil
}

func (s *Server) openTenant(of Tenant) (*tenant, error) {
	if _, err := settings.ParseTenant(of.Name); err != nil {
		return nil, errors.New("want " + nameOfTenant)
	}
	dir := filepath.Join(s.o.Dir, of.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	t := &tenant{Tenant: of, fetches: make(map[string]*fetch), limit: s.o.limits.fetch, most: s.o.limits.fetches}
	o := disk.Options{Dir: dir, MaxSize: s.o.MaxSize, Policy: disk.Cost, Recorder: &t.counts, Trace: s.o.Log.With("tenant", of.Name)}
	if s.o.Signer != nil {
		signer, err := s.o.Signer(of)
		if err != nil {
			return nil, err
		}
		if t.signer = signer; signer != nil {
			o.Vetter = signer
		}
	}
	if of.Write && !t.writes() {
		s.o.Log.Warn("signatures are asked for, and there is no trusted key to sign with: nothing is taken from applications", "tenant", of.Name)
	}
	t.near = disk.New(o)
	if st := t.near.Status(); !st.On {
		return nil, errors.New(st.Reason)
	}
	t.store, t.end = t.near, func(context.Context) {}
	if s.o.Open != nil {
		far, end, err := s.o.Open(of, t.near, &t.counts)
		if err != nil {
			t.near.Close()
			return nil, err
		}
		if far != nil {
			t.store, t.end = far, end
		}
	}
	return t, nil
}

// Serve answers who connects to l until Shutdown, which closes l. It returns nil then.
func (s *Server) Serve(l *net.UnixListener) error {
	s.mu.Lock()
	s.listener = l
	s.mu.Unlock()
	for wait := time.Duration(0); ; {
		c, err := l.AcceptUnix()
		switch {
		case s.stop.Err() != nil:
			if err == nil {
				c.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("serve: %w", err)
		case err != nil: // no descriptors, say: they come back
			wait = min(max(2*wait, time.Millisecond), time.Second)
			s.o.Log.Warn("accept", "error", err.Error())
			select {
			case <-time.After(wait):
			case <-s.stop.Done():
			}
			continue
		}
		wait = 0
		s.mu.Lock()
		full := len(s.open) >= s.o.limits.conns || s.stop.Err() != nil
		if !full {
			s.open[c] = struct{}{}
			s.answers.Add(1)
		}
		s.mu.Unlock()
		if full {
			c.Close()
			continue
		}
		s.admit(c) // here: whoever may not has no place for longer
	}
}

// shutdownConns is how long Shutdown waits for requests that are under way.
const shutdownConns = 500 * time.Millisecond

// Shutdown accepts nobody any more, waits for the requests that are under way and for
// uploads, until the context ends, and closes everything.
func (s *Server) Shutdown(ctx context.Context) {
	s.ended()
	s.mu.Lock()
	if s.listener != nil {
		s.listener.Close()
	}
	for c := range s.open {
		_ = c.SetReadDeadline(time.Now()) // who has sent nothing, or holds a lock
	}
	s.mu.Unlock()
	// Most of the time is for uploads.
	answers, cancel := context.WithTimeout(ctx, shutdownConns)
	wait(answers, s.answers.Wait)
	cancel()
	s.mu.Lock()
	for c := range s.open {
		c.Close()
	}
	s.mu.Unlock()
	wait(ctx, func() {
		var all sync.WaitGroup
		for _, t := range s.tenants {
			all.Go(func() {
				t.end(ctx)
				t.near.Close()
			})
		}
		all.Wait()
	})
}

// wait waits until f has returned, or the context ended.
func wait(ctx context.Context, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// tenantOf returns the tenant of a peer; nil: it has none.
func (s *Server) tenantOf(p peer) *tenant {
	// In a user namespace whoever is not in it has one number for all.
	known := !safefs.IsAnybody(p.uid)
	for _, t := range s.tenants {
		if t.Anyone && p.uid != 0 || known && slices.Contains(t.UIDs, p.uid) || known && slices.ContainsFunc(p.gids, func(gid uint32) bool { return slices.Contains(t.GIDs, gid) }) {
			return t
		}
	}
	return nil
}

// owner reports whether a peer may know of all tenants: root, and who runs the agent.
func (p peer) owner() bool { return p.uid == 0 || p.uid == uint32(os.Geteuid()) }

// Status says how the agent is.
type Status struct {
	Version string         `json:"version,omitempty"`
	PID     int            `json:"pid"`
	UpMS    int64          `json:"up_ms"`
	Clients int            `json:"clients"` // that are answered now, or hold a lock
	Locks   int            `json:"locks"`
	Tenants []TenantStatus `json:"tenants"` // those that the asker may know of
}

// TenantStatus says how a tenant's node cache is.
type TenantStatus struct {
	Name     string `json:"name"`
	Write    bool   `json:"write"`
	Dir      string `json:"dir,omitempty"` // only for who runs the agent
	Entries  int64  `json:"entries"`
	Bytes    int64  `json:"bytes"`
	MaxBytes int64  `json:"max_bytes"`
	Gets     int64  `json:"gets"`
	Hits     int64  `json:"hits"`   // of gets, served from the node cache
	Fetched  int64  `json:"remote"` // of gets, served from a remote
	Puts     int64  `json:"puts"`

	Untrusted int64 `json:"untrusted"` // of gets, that the node cache had, without a signature that counts now

	Remote map[string]int64 `json:"remote_counts,omitempty"` // by the names of package stats
}

func (s *Server) status(p peer, of *tenant) Status {
	st := Status{Version: s.o.Version, PID: os.Getpid(), UpMS: time.Since(s.began).Milliseconds(), Tenants: []TenantStatus{}}
	s.mu.Lock()
	st.Clients = len(s.open)
	for u := range maps.Values(s.users) {
		st.Locks += u.locks
	}
	s.mu.Unlock()
	owner := p.owner()
	for _, t := range s.tenants {
		if t == of || owner {
			st.Tenants = append(st.Tenants, t.status(owner))
		}
	}
	return st
}
