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

	"github.com/kernstash/kernstash/agent/internal/protocol"
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
