//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/agent/internal/protocol"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
)

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
