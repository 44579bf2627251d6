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

// errBusy says that the server has no room now.
var errBusy = errors.New("busy")

// handle answers one connection. A panic ends it alone.
func (s *Server) handle(c *net.UnixConn) {
	x := &session{s: s, c: c}
	defer s.conns.Done()
	defer func() {
		if v := recover(); v != nil {
			s.o.Log.Error("panic in a request", "uid", x.peer.uid, "panic", fmt.Sprint(v))
		}
		s.memory.Add(-x.took)
		s.mu.Lock()
		delete(s.open, c)
		s.mu.Unlock()
		c.Close()
	}()
	var err error
	if x.peer, err = peerOf(c); err != nil {
		s.o.Log.Warn("peer not known", "error", err.Error())
		return
	}
	x.readFor(s.o.limits.head)
	x.writeFor(s.o.limits.body)
	leave, ok := s.enter(x.peer.uid)
	if !ok {
		x.answer(protocol.Busy, 0, nil)
		return
	}
	defer leave()
	if x.t = s.tenantOf(x.peer); x.t == nil && !x.peer.owner() {
		s.o.Log.Warn("refused", "uid", x.peer.uid, "pid", x.peer.pid)
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

// enter counts a connection of a user.
func (s *Server) enter(uid uint32) (leave func(), ok bool) {
	return s.take(uid, func(u *taken) *int { return &u.conns }, s.o.limits.connsPerUser)
}

func (s *Server) take(uid uint32, of func(*taken) *int, limit int) (give func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[uid]
	if u == nil {
		u = new(taken)
		s.users[uid] = u
	}
	if *of(u) >= limit {
		return nil, false
	}
	*of(u)++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if *of(u)--; *u == (taken{}) {
			delete(s.users, uid)
		}
	}, true
}

func (x *session) readFor(d time.Duration) {
	_ = x.c.SetReadDeadline(time.Now().Add(d))
	if x.s.stop.Err() != nil { // Shutdown may have been there before
		_ = x.c.SetReadDeadline(time.Now())
	}
}
func (x *session) writeFor(d time.Duration) { _ = x.c.SetWriteDeadline(time.Now().Add(d)) }

// reserve takes memory from what all clients have together.
func (x *session) reserve(n int64) error {
	if x.s.memory.Add(n) > x.s.o.limits.memory {
		x.s.memory.Add(-n)
		return errBusy
	}
	x.took += n
	return nil
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
	if !x.t.Write {
		x.refuse(fmt.Errorf("tenant %s is read-only", x.t.Name))
	}
	return x.t.Write
}

// get sends the open file of an entry, or what was fetched.
func (x *session) get(ctx context.Context, k key.Key, checked bool) {
	x.t.gets.Add(1)
	if !checked {
		if f, _, err := x.t.near.Open(ctx, k); err == nil {
			defer f.Close()
			x.t.hits.Add(1)
			head := protocol.Answer{Status: protocol.Descriptor}.Append(nil)
			x.writeFor(x.s.o.limits.head)
			_, _, _ = x.c.WriteMsgUnix(head, unix.UnixRights(f.FD()), nil)
			return
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
	why := reason.MissRemote // it took too long
	if miss, ok := errors.AsType[*store.MissError](err); ok {
		why = miss.Reason
	}
	x.answer(protocol.Miss, uint32(why), nil)
}

// put stores what a client hands over, if it is what it says.
func (x *session) put(ctx context.Context, body []byte) {
	if !x.mayWrite() {
		return
	}
	e, err := checkEntry(body)
	if err != nil {
		x.s.o.Log.Warn("bad entry handed over", "uid", x.peer.uid, "pid", x.peer.pid, "error", err.Error())
		x.refuse(err)
		return
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
	x.done(0, x.t.store.PutBlob(ctx, store.Manifests, name, content))
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
		s.conns.Go(func() {
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
	give, ok := x.s.take(x.peer.uid, func(u *taken) *int { return &u.locks }, x.s.o.limits.locksPerUser)
	if !ok {
		x.answer(protocol.Busy, 0, nil)
		return
	}
	defer give()
	alive, closeProcess := watchProcess(x.peer.pid)
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
	default:
		x.refuse(err)
	}
}

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
