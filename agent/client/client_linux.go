package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/agent/internal/protocol"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// check reports what is wrong with a socket before anything is said to it.
func (c *Client) check(path string) error {
	for _, p := range []string{path, filepath.Dir(path)} {
		var st unix.Stat_t
		err := unix.Lstat(path, &st)
		want := uint32(unix.S_IFSOCK)
		if p != path { // a link may lead to the directory, as to /run
			want, err = unix.S_IFDIR, unix.Stat(p, &st)
		}
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
			return fmt.Errorf("%s: %w", p, os.ErrNotExist)
		case err != nil:
			return fmt.Errorf("%s: %w", p, err)
		case st.Mode&unix.S_IFMT != want:
			return fmt.Errorf("%s is no %s: %w", p, map[uint32]string{unix.S_IFSOCK: "socket", unix.S_IFDIR: "directory"}[want], ErrUntrusted)
		case !c.believes(st.Uid, safefs.IsAnybody(st.Uid)):
			return fmt.Errorf("%s belongs to user %d: %w", p, st.Uid, ErrUntrusted)
		case p != path && st.Mode&0o022 != 0:
			return fmt.Errorf("%s may be written by others (mode %04o): %w", p, st.Mode&0o777, ErrUntrusted)
		}
	}
	return nil
}

// conn is one connection. It is used by one goroutine.
type conn struct {
	f   safefs.File // a socket: it knows when the host closes it and opens something else
	end time.Time
}

// errClosed is that of a peer who ends the connection: an agent that has no room, or dies.
var errClosed = errors.New("the agent ended the connection")

// dial connects, and asks who is there.
func (c *Client) dial(ctx context.Context, end time.Time) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err := c.find()
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	x := &conn{safefs.Opened(fd), end}
	if err := x.connect(path); err != nil {
		x.close()
		if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT) {
			c.lost()
			return nil, ErrAbsent
		}
		return nil, fmt.Errorf("connect to %s: %w", path, err)
	}
	peer, err := unix.GetsockoptUcred(x.f.FD(), unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err == nil && !c.believes(peer.Uid, safefs.IsAnybody(peer.Uid)) {
		err = fmt.Errorf("it runs as user %d: %w", peer.Uid, ErrUntrusted)
	}
	if err != nil {
		x.close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}

func (x *conn) connect(path string) error {
	if x.f.FD() <= unix.Stderr {
		return unix.EMFILE // whoever writes to standard output would write to the agent
	}
	for {
		if err := x.limit(unix.SO_SNDTIMEO); err != nil {
			return err
		}
		err := unix.Connect(x.f.FD(), &unix.SockaddrUnix{Name: path})
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EISCONN):
			return nil
		case errors.Is(err, unix.EAGAIN):
			return os.ErrDeadlineExceeded // the agent accepts nobody
		}
		return err
	}
}

// limit has calls end when the request does, and makes sure that the socket is ours.
func (x *conn) limit(opt int) error {
	if err := x.f.Own(); err != nil {
		return err
	}
	left := time.Until(x.end)
	if left <= 0 {
		return os.ErrDeadlineExceeded
	}
	tv := unix.NsecToTimeval(max(int64(left), int64(time.Millisecond)))
	return unix.SetsockoptTimeval(x.f.FD(), unix.SOL_SOCKET, opt, &tv)
}

func (x *conn) close() { _ = x.f.Close() }

// send writes all of b. No SIGPIPE reaches the host.
func (x *conn) send(b []byte) error {
	for len(b) > 0 {
		if err := x.limit(unix.SO_SNDTIMEO); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		n, err := unix.SendmsgN(x.f.FD(), b[:min(len(b), 1<<20)], nil, nil, unix.MSG_NOSIGNAL)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			err = os.ErrDeadlineExceeded
		}
		if err != nil {
			return fmt.Errorf("send: %w", err)
		}
		b = b[n:]
	}
	return nil
}

// receive fills b. A descriptor that comes with it is put into fd; every other one is closed.
func (x *conn) receive(b []byte, fd *int) error {
	for len(b) > 0 {
		if err := x.limit(unix.SO_RCVTIMEO); err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		var oob []byte
		if fd != nil && *fd < 0 {
			oob = make([]byte, unix.CmsgSpace(4))
		}
		n, oobn, _, _, err := unix.Recvmsg(x.f.FD(), b, oob, unix.MSG_CMSG_CLOEXEC)
		if oobn > 0 {
			keepDescriptor(oob[:oobn], fd)
		}
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			err = os.ErrDeadlineExceeded
		case err == nil && n == 0, errors.Is(err, unix.ECONNRESET):
			err = errClosed
		}
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		b = b[n:]
	}
	return nil
}

func keepDescriptor(oob []byte, fd *int) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue
		}
		for _, got := range fds {
			if *fd < 0 {
				*fd = got
			} else {
				_ = unix.Close(got)
			}
		}
	}
}

// reply is an answer with its body, and the descriptor that came with it, or -1.
type reply struct {
	protocol.Answer
	body []byte
	fd   int
}

func (r *reply) close() {
	if r.fd >= 0 {
		_ = unix.Close(r.fd)
		r.fd = -1
	}
}

// ask sends a request and returns the answer, whose body is at most so large.
func (x *conn) ask(op protocol.Op, maxBody int64, parts ...[]byte) (*reply, error) {
	size := uint64(0)
	for _, p := range parts {
		size += uint64(len(p))
	}
	head := protocol.Request{Op: op, Timeout: time.Until(x.end), Size: size}.Append(make([]byte, 0, protocol.HeadBytes+protocol.KeyBytes))
	if len(parts) == 1 && len(parts[0]) <= protocol.KeyBytes {
		head, parts = append(head, parts[0]...), nil
	}
	err := x.send(head)
	for i := 0; i < len(parts) && err == nil; i++ {
		err = x.send(parts[i])
	}
	// Who refuses a body may answer, and end the connection, before all of it was sent.
	r, answerErr := x.answer(maxBody)
	if answerErr != nil {
		return nil, cmp.Or(err, answerErr)
	}
	return r, nil
}

func (x *conn) answer(maxBody int64) (*reply, error) {
	r := &reply{fd: -1}
	head := make([]byte, protocol.HeadBytes)
	err := x.receive(head, &r.fd)
	if err == nil {
		r.Answer, err = protocol.ParseAnswer(head, uint64(maxBody))
	}
	if err == nil && r.Size > 0 {
		r.body, err = x.receiveBody(int64(r.Size))
	}
	if err != nil {
		r.close()
		return nil, err
	}
	switch r.Status {
	case protocol.Refused:
		return nil, fmt.Errorf("%w: %q", ErrRefused, r.body)
	case protocol.TooLarge:
		return nil, store.ErrTooLarge
	case protocol.Busy:
		return nil, store.ErrDropped
	}
	return r, nil
}

// receiveBody takes memory as bytes come.
func (x *conn) receiveBody(size int64) ([]byte, error) {
	const step = 1 << 20
	b := make([]byte, 0, min(size, step))
	for int64(len(b)) < size {
		have, n := len(b), int(min(size-int64(len(b)), max(int64(len(b)), step)))
		b = append(b, make([]byte, n)...)
		if err := x.receive(b[have:], nil); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// request makes one request on a connection of its own.
func (c *Client) request(ctx context.Context, timeout time.Duration, op protocol.Op, maxBody int64, parts ...[]byte) (*reply, error) {
	x, err := c.dial(ctx, until(ctx, timeout))
	if err != nil {
		return nil, err
	}
	defer x.close()
	return x.ask(op, maxBody, parts...)
}

// Get has the agent find an entry, in its node cache or farther away, and reads and checks
// it; see [store.Store].
func (c *Client) Get(ctx context.Context, k key.Key) (*store.Entry, error) {
	e, err := c.get(ctx, k, protocol.Get)
	if miss, ok := errors.AsType[*store.MissError](err); ok && damaged(miss.Reason) {
		c.o.Trace.Warn("damaged entry from the agent", "key", k.Short(), "reason", err)
		e, err = c.get(ctx, k, protocol.GetChecked)
	}
	if err != nil {
		return nil, missed(err)
	}
	return e, nil
}

// damaged reports whether the agent would find out that its file is bad, if it were asked to
// look.
func damaged(why reason.Reason) bool {
	return why == reason.MissDigest || why == reason.MissTruncated || why == reason.MissForeign
}

func (c *Client) get(ctx context.Context, k key.Key, op protocol.Op) (*store.Entry, error) {
	r, err := c.request(ctx, c.o.Timeout, op, c.o.MaxSize, protocol.AppendKey(make([]byte, 0, protocol.KeyBytes), k))
	if err != nil {
		return nil, err
	}
	defer r.close()
	switch {
	case r.Status == protocol.Descriptor && r.fd >= 0:
		f := safefs.Received(r.fd)
		r.fd = -1
		defer f.Close()
		e, err := disk.ReadEntry(f, k)
		if err == nil {
			c.o.Recorder.Add(stats.RemoteBytesRead, e.Artifact.Size())
		}
		return e, err
	case r.Status == protocol.Inline:
		h, a, err := format.DecodeBin(r.body)
		if err == nil && h.Key != k {
			err = errors.New("an entry of another key")
		}
		if err != nil {
			return nil, fmt.Errorf("entry from the agent: %w", err)
		}
		c.o.Recorder.Add(stats.RemoteBytesRead, a.Size())
		return &store.Entry{Key: k, Artifact: a}, nil
	case r.Status == protocol.Miss:
		return nil, missOf(r.Code)
	}
	return nil, unexpected(r) // a sandbox may keep descriptors from coming
}

func unexpected(r *reply) error {
	return fmt.Errorf("%w: status %d, descriptor %d", protocol.ErrMalformed, r.Status, r.fd)
}

// Put hands an entry over; see [store.Store]. The agent checks it, keeps it in the node cache
// and uploads it later.
func (c *Client) Put(ctx context.Context, e *store.Entry) (store.PutResult, error) {
	res, err := c.put(ctx, e)
	switch {
	case err != nil:
		if !errors.Is(err, ErrAbsent) {
			c.o.Recorder.Add(stats.RemotePutFailures, 1)
		}
		return store.Failed, fmt.Errorf("hand over to the agent: %w", err)
	case res == store.Existing:
		c.o.Recorder.Add(stats.RemotePutsExisting, 1)
	default:
		c.o.Recorder.Add(stats.RemotePuts, 1)
		c.o.Recorder.Add(stats.RemoteBytesWritten, e.Artifact.Size())
	}
	return res, nil
}

func (c *Client) put(ctx context.Context, e *store.Entry) (store.PutResult, error) {
	if err := format.CheckEntry(e); err != nil {
		return store.Failed, err
	}
	if e.Artifact.Size() > c.o.MaxSize {
		return store.Failed, store.ErrTooLarge
	}
	if _, err := c.find(); err != nil {
		return store.Failed, err // before anything is encoded
	}
	a := *e.Artifact
	if a.Created.IsZero() {
		a.Created = time.Now()
	}
	bin, err := format.EncodeBin(e.Key, &a)
	if err != nil {
		return store.Failed, err
	}
	src, err := format.EncodeSrc(e.Recipe)
	if err != nil {
		return store.Failed, err
	}
	parts := append([][]byte{protocol.AppendEntryHead(nil, bin.Size)}, bin.Parts...)
	r, err := c.request(ctx, putTimeout, protocol.Put, 0, append(parts, src)...)
	if err != nil {
		return store.Failed, err
	}
	defer r.close()
	if r.Status != protocol.Done || r.Code == 0 || r.Code > uint32(store.Existing) {
		return store.Failed, unexpected(r)
	}
	return store.PutResult(r.Code), nil
}

// Delete removes an entry from the node cache.
func (c *Client) Delete(ctx context.Context, k key.Key) error {
	return c.done(ctx, c.o.Timeout, "delete "+k.Short(), protocol.Delete, protocol.AppendKey(nil, k))
}

func (c *Client) done(ctx context.Context, timeout time.Duration, what string, op protocol.Op, parts ...[]byte) error {
	r, err := c.request(ctx, timeout, op, 0, parts...)
	if err == nil {
		if r.close(); r.Status != protocol.Done {
			err = unexpected(r)
		}
	}
	if err != nil {
		return fmt.Errorf("%s at the agent: %w", what, err)
	}
	return nil
}

// GetBlob returns a manifest; see [store.Blobs].
func (c *Client) GetBlob(ctx context.Context, kind store.Kind, name key.Digest) ([]byte, error) {
	if kind != store.Manifests {
		return nil, &store.MissError{Reason: reason.MissAbsent, Cause: errors.ErrUnsupported}
	}
	r, err := c.request(ctx, c.o.Timeout, protocol.GetManifest, protocol.MaxManifest, name[:])
	if err != nil {
		return nil, missed(err)
	}
	defer r.close()
	switch r.Status {
	case protocol.Inline:
		return r.body, nil
	case protocol.Miss:
		return nil, missOf(r.Code)
	}
	return nil, missed(unexpected(r))
}

// PutBlob hands a manifest over; see [store.Blobs].
func (c *Client) PutBlob(ctx context.Context, kind store.Kind, name key.Digest, content []byte) error {
	switch {
	case kind != store.Manifests:
		return fmt.Errorf("%s: %w", kind, errors.ErrUnsupported)
	case len(content) > protocol.MaxManifest:
		return store.ErrTooLarge
	}
	return c.done(ctx, putTimeout, "put manifest", protocol.PutManifest, name[:], content)
}

// Prefetch has the agent fetch what an application is known to use, and does not wait for that. It
// fails where the agent has no remote.
func (c *Client) Prefetch(ctx context.Context, app string) error {
	return c.done(ctx, c.o.Timeout, "prefetch", protocol.Prefetch, []byte(app))
}

// tryLock takes a lock, which its connection holds.
func (c *Client) tryLock(ctx context.Context, k key.Key) (unlock func(), err error) {
	x, err := c.dial(ctx, until(ctx, c.o.Timeout))
	if err != nil {
		return nil, err
	}
	r, err := x.ask(protocol.Lock, 0, protocol.AppendKey(nil, k))
	if err == nil {
		r.close()
		switch r.Status {
		case protocol.Done:
			return sync.OnceFunc(x.release), nil
		case protocol.Held:
			err = store.ErrLocked
		default:
			err = unexpected(r)
		}
	}
	x.close()
	return nil, err
}

// releaseWait bounds how long an unlock waits for the agent to have seen it.
const releaseWait = 50 * time.Millisecond

// release ends a lock. In a child that was forked meanwhile the connection stays open, so it
// is shut down, not only closed.
func (x *conn) release() {
	x.end = time.Now().Add(releaseWait)
	if x.f.Own() == nil && unix.Shutdown(x.f.FD(), unix.SHUT_WR) == nil {
		_ = x.receive(make([]byte, 1), nil)
	}
	x.close()
}

// Status asks the agent how it is, into v, by encoding/json. It says which socket was asked.
func (c *Client) Status(ctx context.Context, v any) (socket string, err error) {
	r, err := c.request(ctx, c.o.Timeout, protocol.Ping, protocol.MaxStatus)
	if err == nil {
		r.close()
		err = json.Unmarshal(r.body, v)
	}
	if err != nil && errors.Is(err, io.EOF) {
		err = errClosed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.path, err
}
