package client

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/agent/internal/protocol"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
)

// pair returns a connection of a client, and its other end.
func pair(t *testing.T) (*conn, *net.UnixConn) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ks-client-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := New(Options{Paths: []string{socket}})
	x, err := c.dial(t.Context(), time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	peer, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { peer.Close() })
	return x, peer
}

// TestHostClosesTheDescriptor has a host close our socket, and open a file of its own under the
// number: nothing is written to it, nothing read, and it stays open.
func TestHostClosesTheDescriptor(t *testing.T) { // descriptors are the process's: not parallel
	for name, use := range map[string]func(*conn) error{
		"send":    func(x *conn) error { return x.send([]byte("request")) },
		"receive": func(x *conn) error { return x.receive(make([]byte, 1), nil) },
		"release": func(x *conn) error { x.release(); return unix.EBADF },
		"close":   func(x *conn) error { return x.f.Close() },
	} {
		x, _ := pair(t)
		file, err := os.Create(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Dup3(int(file.Fd()), x.f.FD(), unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		if err := use(x); !errors.Is(err, unix.EBADF) {
			t.Errorf("%s: %v", name, err)
		}
		hosts := os.NewFile(uintptr(x.f.FD()), "host's")
		if _, err := hosts.WriteString("the host's own"); err != nil {
			t.Errorf("%s: the host's file was closed: %v", name, err)
		}
		hosts.Close()
		if b, err := os.ReadFile(file.Name()); err != nil || string(b) != "the host's own" {
			t.Errorf("%s: the host's file holds %q, %v", name, b, err)
		}
		file.Close()
	}
}

// TestElevated: a program with rights that its user has not asks nobody.
func TestElevated(t *testing.T) {
	t.Parallel()
	c := New(Options{Paths: []string{filepath.Join(t.TempDir(), "none")}, elevated: true})
	if _, err := c.Get(t.Context(), key.Key{}); !errors.Is(err, ErrUntrusted) || c.Present() {
		t.Error(err)
	}
}

// TestPeerEnds writes to a peer who has ended: an error, and no signal.
func TestPeerEnds(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGPIPE)
	defer signal.Stop(signals)
	x, peer := pair(t)
	peer.Close()
	if err := x.send(bytes.Repeat([]byte("x"), 1<<20)); !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
		t.Error(err)
	}
	x.close()
	// A signal that the thread got itself comes before the next one that it sends itself.
	signal.Notify(signals, unix.SIGWINCH)
	if err := unix.Kill(os.Getpid(), unix.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	if s := <-signals; s != unix.SIGWINCH {
		t.Errorf("%v reached the host", s)
	}
}

// TestBadAnswers answers what no agent would.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	good := protocol.Answer{Status: protocol.Inline, Size: 100}.Append(nil)
	for name, b := range map[string][]byte{
		"nothing": nil, "half a head": good[:10], "another protocol": []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
		"body cut": append(bytes.Clone(good), "short"...), "too large": protocol.Answer{Status: protocol.Inline, Size: 1 << 40}.Append(nil),
		"no status": protocol.Answer{Status: 77}.Append(nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, peer := pair(t)
			defer x.close()
			if _, err := peer.Write(b); err != nil {
				t.Fatal(err)
			}
			peer.Close()
			if r, err := x.ask(protocol.Get, 1<<20, make([]byte, protocol.KeyBytes)); err == nil {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestManyDescriptors sends more descriptors than are asked for: none stays open.
func TestManyDescriptors(t *testing.T) { // it counts descriptors: not parallel
	x, peer := pair(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	before := descriptors(t)
	fds := unix.UnixRights(int(null.Fd()), int(null.Fd()), int(null.Fd()))
	for _, part := range [][]byte{{'a'}, {'b'}} {
		if _, _, err := peer.WriteMsgUnix(part, fds, nil); err != nil {
			t.Fatal(err)
		}
	}
	fd := -1
	if err := x.receive(make([]byte, 2), &fd); err != nil {
		t.Fatal(err)
	}
	if fd >= 0 {
		unix.Close(fd)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
	x.close()
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestMissOfARemote: that a remote of the agent does not answer is not the agent's failure.
func TestMissOfARemote(t *testing.T) {
	t.Parallel()
	for why, slow := range map[reason.Reason]bool{reason.MissRemote: true, reason.MissAbsent: false, reason.MissUntrusted: false} {
		err := missOf(uint32(why))
		if miss, ok := errors.AsType[*store.MissError](err); !ok || miss.Reason != why || errors.Is(err, store.ErrSlow) != slow {
			t.Errorf("%v: %v", why, err)
		}
	}
}
