//go:build linux

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/agent/internal/protocol"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
)

// session is one connection: one request, and its answer.
type session struct {
	s    *Server
	c    *net.UnixConn
	peer peer
	t    *tenant
	took int64 // bytes of memory
}

// admit finds out who connected, and has it answered if it may take one more connection.
func (s *Server) admit(c *net.UnixConn) {
	x := &session{s: s, c: c}
	var err error
	x.peer, err = peerOf(c)
	x.writeFor(s.o.limits.body)
	if err == nil {
		x.t = s.tenantOf(x.peer)
	} else {
		s.warnings.warn(s.o.Log, "peer not known", "error", err.Error())
	}
	leave, ok := func() {}, false
	if err == nil {
		leave, ok = s.enter(x.peer, x.t)
	}
	if !ok {
		if err == nil {
			x.answer(protocol.Busy, 0, nil) // which the socket has room for
		}
		s.end(x)
		return
	}
	go func() {
		defer s.end(x)
		defer leave()
		x.handle()
	}()
}

// end ends a connection.
func (s *Server) end(x *session) {
	x.release()
	s.mu.Lock()
	delete(s.open, x.c)
	s.mu.Unlock()
	x.c.Close()
	s.answers.Done()
}

// handle answers one connection. A panic ends it alone.
func (x *session) handle() {
	s, c := x.s, x.c
	defer func() {
		if v := recover(); v != nil {
			s.o.Log.Error("panic in a request", "uid", x.peer.uid, "panic", fmt.Sprint(v))
		}
	}()
	x.readFor(s.o.limits.head)
	if x.t == nil && !x.peer.owner() {
		s.warnings.warn(s.o.Log, "refused", "uid", x.peer.uid, "pid", x.peer.pid)
		x.refuse(fmt.Errorf("user %d is of no tenant of this agent", x.peer.uid))
		x.drain()
		return
	}
	head := make([]byte, protocol.HeadBytes)
	if _, err := io.ReadFull(c, head); err != nil {
		return
	}
	r, err := protocol.ParseRequest(head, uint64(s.o.MaxPut))
	if err != nil {
		if r.Op == protocol.Put && r.Size > uint64(s.o.MaxPut) {
			x.answer(protocol.TooLarge, 0, nil)
		} else {
			x.refuse(err)
		}
		x.drain()
		return
	}
	if x.t == nil && r.Op != protocol.Ping {
		x.refuse(fmt.Errorf("user %d is of no tenant of this agent", x.peer.uid))
		x.drain()
		return
	}
	x.readFor(s.o.limits.body)
	body, err := x.read(r.Size)
	if err != nil {
		x.fail(err)
		x.drain()
		return
	}
	// The client has to get the answer within its time.
	ctx, cancel := context.WithTimeout(s.stop, max(min(r.Timeout, time.Minute)*9/10, time.Millisecond))
	defer cancel()
	x.do(ctx, r.Op, body)
}

// drain reads, for a short time, what a client sends that has its answer already: a connection
// that is closed with something unread takes the answer away.
func (x *session) drain() {
	_ = x.c.CloseWrite()
	x.readFor(x.s.o.limits.head)
	_, _ = io.Copy(io.Discard, x.c)
}

// enter counts a connection of a user, and of its tenant. No tenant, and nobody of none, keeps others from being answered.
func (s *Server) enter(p peer, t *tenant) (leave func(), ok bool) {
	most := s.o.limits.conns
	switch {
	case t == nil && !p.owner():
		most = s.o.limits.strangers
	case t != nil && len(s.tenants) > 1:
		most /= 2
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[t] >= most {
		return nil, false
	}
	give, ok := s.take(p.uid, func(u *taken) *int { return &u.conns }, s.o.limits.connsPerUser)
	if !ok {
		return nil, false
	}
	s.conns[t]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.conns[t]--
		give()
	}, true
}

// take counts something that a user takes, unless that is more than a limit. s.mu is held, as when it is given back.
func (s *Server) take(uid uint32, of func(*taken) *int, limit int) (give func(), ok bool) {
	u := s.user(uid)
	if *of(u) >= limit {
		return nil, false
	}
	*of(u)++
	return func() {
		*of(u)--
		s.forget(uid)
	}, true
}

// user returns what a user has taken; s.mu is held.
func (s *Server) user(uid uint32) *taken {
	u := s.users[uid]
	if u == nil {
		u = new(taken)
		s.users[uid] = u
	}
	return u
}

// forget forgets a user who has taken nothing; s.mu is held.
func (s *Server) forget(uid uint32) {
	if u := s.users[uid]; u != nil && *u == (taken{}) {
		delete(s.users, uid)
	}
}

func (x *session) readFor(d time.Duration) {
	_ = x.c.SetReadDeadline(time.Now().Add(d))
	if x.s.stop.Err() != nil { // Shutdown may have been there before
		_ = x.c.SetReadDeadline(time.Now())
	}
}
func (x *session) writeFor(d time.Duration) { _ = x.c.SetWriteDeadline(time.Now().Add(d)) }

// reserve takes memory from what all clients have together, of which one user has half.
func (x *session) reserve(n int64) error {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	u, most := x.s.user(x.peer.uid), x.s.o.limits.memory
	if u.memory+n > most/2 || x.s.memory.Load()+n > most {
		x.s.forget(x.peer.uid)
		return errBusy
	}
	u.memory += n
	x.s.memory.Add(n)
	x.took += n
	return nil
}

// release gives back what the session has reserved.
func (x *session) release() {
	if x.took == 0 {
		return
	}
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	x.s.user(x.peer.uid).memory -= x.took
	x.s.memory.Add(-x.took)
	x.took = 0
	x.s.forget(x.peer.uid)
}

// read reads a body, and takes memory as it comes: at most twice what has come.
func (x *session) read(size uint64) ([]byte, error) {
	const step = 64 << 10
	b := make([]byte, 0, min(size, step))
	for uint64(len(b)) < size {
		n := min(size-uint64(len(b)), max(uint64(len(b)), step))
		if err := x.reserve(int64(n)); err != nil {
			return nil, err
		}
		have := len(b)
		b = append(b, make([]byte, n)...)
		if _, err := io.ReadFull(x.c, b[have:]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// do answers a request.
func (x *session) do(ctx context.Context, op protocol.Op, body []byte) {
	switch op {
	case protocol.Ping:
		b, err := json.Marshal(x.s.status(x.peer, x.t))
		if err != nil {
			x.fail(err)
			return
		}
		x.answer(protocol.Done, 0, [][]byte{b})
	case protocol.Put:
		x.put(ctx, body)
	case protocol.GetManifest, protocol.PutManifest:
		x.manifest(ctx, op, body)
	case protocol.Prefetch:
		x.prefetch(string(body))
	default:
		k, err := protocol.ParseKey(body)
		if err != nil {
			x.fail(err)
			return
		}
		x.ofKey(ctx, op, k)
	}
}

func (x *session) ofKey(ctx context.Context, op protocol.Op, k key.Key) {
	switch op {
	case protocol.Get, protocol.GetChecked:
		x.get(ctx, k, op == protocol.GetChecked)
	case protocol.Delete:
		if x.mayWrite() {
			x.done(0, x.t.near.Delete(ctx, k))
		}
	case protocol.Lock:
		if x.mayWrite() {
			x.lock(ctx, k)
		}
	}
}

func (x *session) mayWrite() bool {
	may := x.t.writes()
	if !may {
		x.refuse(fmt.Errorf("tenant %s is read-only", x.t.Name))
	}
	return may
}

// get sends the open file of an entry, or what was fetched.
func (x *session) get(ctx context.Context, k key.Key, checked bool) {
	x.t.gets.Add(1)
	if !checked {
		f, _, err := x.t.near.Open(ctx, k)
		if err == nil {
			defer f.Close()
			x.t.hits.Add(1)
			head := protocol.Answer{Status: protocol.Descriptor}.Append(nil)
			x.writeFor(x.s.o.limits.head)
			_, _, _ = x.c.WriteMsgUnix(head, unix.UnixRights(f.FD()), nil)
			return
		}
		if reasonOf(err) == reason.MissUntrusted {
			x.t.untrusted.Add(1) // it is looked for farther away
		}
	}
	e, err := x.t.get(ctx, k)
	if err != nil {
		x.miss(err)
		return
	}
	if err := x.reserve(e.Artifact.Size()); err != nil {
		x.fail(err)
		return
	}
	bin, err := format.EncodeBin(k, e.Artifact)
	if err != nil {
		x.fail(err)
		return
	}
	x.t.fetched.Add(1)
	x.answer(protocol.Inline, 0, bin.Parts)
}

// miss answers with the reason of a failed Get.
func (x *session) miss(err error) {
	x.answer(protocol.Miss, uint32(reasonOf(err)), nil)
}

func reasonOf(err error) reason.Reason {
	if miss, ok := errors.AsType[*store.MissError](err); ok {
		return miss.Reason
	}
	return reason.MissRemote // it took too long
}

// put stores what a client hands over, if it is what it says.
func (x *session) put(ctx context.Context, body []byte) {
	if !x.mayWrite() {
		return
	}
	e, err := checkEntry(body)
	if err != nil {
		x.s.warnings.warn(x.s.o.Log, "bad entry handed over", "uid", x.peer.uid, "pid", x.peer.pid, "error", err.Error())
		x.refuse(err)
		return
	}
	if s := x.t.signer; s != nil && s.Signs() {
		err := x.reserve(int64(len(body))) // for what is compressed
		if err == nil {
			err = s.Seal(e)
		}
		if err != nil {
			x.fail(err)
			return
		}
	}
	res, err := x.t.store.Put(ctx, e)
	if err == nil {
		x.t.puts.Add(1)
		x.s.o.Log.Debug("put", "tenant", x.t.Name, "uid", x.peer.uid, "key", e.Key.Short(), "bytes", len(body))
	}
	x.done(uint32(res), err)
}

// checkEntry reads an entry from somebody who may have made it by hand. All digests are
// checked, that of the code by SHA-256 too: it is about to be signed.
func checkEntry(body []byte) (*store.Entry, error) {
	bin, src, err := protocol.ParseEntry(body)
	if err != nil {
		return nil, err
	}
	h, a, err := format.VerifyBin(bin)
	if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	r, err := format.DecodeSrc(src)
	if err != nil {
		return nil, fmt.Errorf("recipe: %w", err)
	}
	if a.Created.IsZero() {
		a.Created = time.Now()
	}
	e := &store.Entry{Key: h.Key, Recipe: r, Artifact: a}
	return e, format.CheckEntry(e)
}

func (x *session) manifest(ctx context.Context, op protocol.Op, body []byte) {
	name, content, err := protocol.ParseNamed(body)
	if err != nil {
		x.fail(err)
		return
	}
	if op == protocol.GetManifest {
		b, err := x.t.manifest(ctx, name)
		if err != nil {
			x.miss(err)
			return
		}
		x.answer(protocol.Inline, 0, [][]byte{b})
		return
	}
	if !x.mayWrite() {
		return
	}
	if _, err := manifest.Parse(content, name); err != nil {
		x.refuse(err)
		return
	}
	if s := x.t.signer; s != nil && s.Signs() {
		seal, err := s.SealBlob(name, content)
		if err == nil {
			err = x.t.near.PutSealedBlob(ctx, store.Manifests, name, content, seal)
		}
		if err != nil {
			x.fail(err)
			return
		}
	}
	x.done(0, x.t.store.PutBlob(ctx, store.Manifests, name, content)) // which finds it near, and has it uploaded
}

// prefetch has what an application uses fetched, and does not wait for that.
func (x *session) prefetch(app string) {
	ahead, ok := x.t.store.(store.Prefetcher)
	if !ok {
		x.refuse(errNoRemote)
		return
	}
	t, s := x.t, x.s
	done, begun := t.beginPrefetch(app, time.Now())
	if begun {
		s.answers.Go(func() {
			defer done()
			defer func() {
				if v := recover(); v != nil {
					s.o.Log.Error("panic in a prefetch", "tenant", t.Name, "panic", fmt.Sprint(v))
				}
			}()
			got := ahead.Prefetch(s.stop, app)
			s.o.Log.Debug("prefetched", "tenant", t.Name, "application", app, "from", got.From, "listed", got.Listed, "near", got.Near, "came", got.Came)
		})
	}
	x.answer(protocol.Done, 0, nil)
}

// errNoRemote is why an agent fetches nothing ahead.
var errNoRemote = errors.New("the agent has no remote")

// lockCheck is how often it is looked whether who holds a lock is alive: a child that it
// forked may have its connection.
const lockCheck = time.Second

// lock takes a lock, and keeps it as long as the connection and the process live.
func (x *session) lock(ctx context.Context, k key.Key) {
	x.s.mu.Lock()
	give, ok := x.s.take(x.peer.uid, func(u *taken) *int { return &u.locks }, x.s.o.limits.locksPerUser)
	x.s.mu.Unlock()
	if !ok {
		x.answer(protocol.Busy, 0, nil)
		return
	}
	defer func() {
		x.s.mu.Lock()
		defer x.s.mu.Unlock()
		give()
	}()
	alive, closeProcess := x.watchProcess()
	defer closeProcess()
	unlock, err := x.t.store.Lock(ctx, k, 0)
	if errors.Is(err, store.ErrLocked) {
		x.answer(protocol.Held, 0, nil)
		return
	}
	if err != nil {
		x.fail(err)
		return
	}
	defer unlock() // before the connection is closed, which the client waits for
	x.answer(protocol.Done, 0, nil)
	for b := make([]byte, 1); alive() && x.s.stop.Err() == nil; {
		x.readFor(lockCheck)
		if n, err := x.c.Read(b); n > 0 || err != nil && !errors.Is(err, errTimeout) {
			return
		}
	}
}

// done answers with a number, or with what went wrong.
func (x *session) done(code uint32, err error) {
	if err != nil {
		x.fail(err)
		return
	}
	x.answer(protocol.Done, code, nil)
}

func (x *session) fail(err error) {
	switch {
	case errors.Is(err, store.ErrTooLarge):
		x.answer(protocol.TooLarge, 0, nil)
	case errors.Is(err, errBusy), errors.Is(err, store.ErrDropped), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		x.answer(protocol.Busy, 0, nil)
	case errors.Is(err, protocol.ErrMalformed):
		x.refuse(err)
	default: // the log may say where the agent's files and remotes are
		x.s.warnings.warn(x.s.o.Log, "not done", "uid", x.peer.uid, "error", err.Error())
		x.refuse(errNotDone)
	}
}

// errNotDone is what clients are told of trouble of the agent's own.
var errNotDone = errors.New("the agent could not do it; its log says why")

func (x *session) refuse(err error) {
	text := err.Error()
	x.answer(protocol.Refused, 0, [][]byte{[]byte(text[:min(len(text), protocol.MaxText)])})
}

// answer sends one. Who does not take it in time gets none.
func (x *session) answer(st protocol.Status, code uint32, parts [][]byte) {
	size := uint64(0)
	for _, p := range parts {
		size += uint64(len(p))
	}
	all := append(net.Buffers{protocol.Answer{Status: st, Code: code, Size: size}.Append(nil)}, parts...)
	x.writeFor(x.s.o.limits.body)
	_, _ = all.WriteTo(x.c)
}
