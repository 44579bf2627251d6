package servers

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Serve listens on a free port until the test ends, and calls serve for each connection, which is
// closed when serve returns, or when the test ends.
func Serve(t testing.TB, serve func(c net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	ended := false
	conns := make(map[net.Conn]struct{})
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			} else if err != nil {
				continue
			}
			mu.Lock()
			conns[c] = struct{}{}
			if ended {
				c.Close()
			}
			mu.Unlock()
			wg.Go(func() {
				serve(c)
				c.Close()
				mu.Lock()
				defer mu.Unlock()
				delete(conns, c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		ended = true
		for c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

// Mute returns the address of a server that accepts connections and never answers.
func Mute(t testing.TB) (addr string) {
	return Serve(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
}

// Refusing returns an address where nobody listens.
func Refusing(t testing.TB) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return l.Addr().String()
}

// Delayed returns the address of a proxy of another address that adds a latency to each round trip:
// it delays what goes to the server, and bounds no bandwidth.
func Delayed(t testing.TB, to string, latency time.Duration) (addr string) {
	type piece struct {
		due time.Time
		b   []byte
	}
	return Serve(t, func(c net.Conn) {
		server, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		pieces := make(chan piece, 1<<16)
		go func() {
			defer close(pieces)
			for {
				b := make([]byte, 64<<10)
				n, err := c.Read(b)
				if err != nil {
					return
				}
				pieces <- piece{time.Now().Add(latency), b[:n]}
			}
		}()
		go func() {
			defer server.Close()
			for p := range pieces {
				time.Sleep(time.Until(p.due))
				if _, err := server.Write(p.b); err != nil {
					return
				}
			}
		}()
		_, _ = io.Copy(c, server)
	})
}

// Throttled returns the address of a proxy of another address through which answers come at so many bytes a second.
func Throttled(t testing.TB, to string, rate *atomic.Int64) (addr string) {
	return Serve(t, func(c net.Conn) {
		server, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		go func() {
			defer server.Close()
			_, _ = io.Copy(server, c)
		}()
		b := make([]byte, 2<<10)
		for due := time.Now(); ; {
			n, err := server.Read(b)
			if err != nil {
				return
			}
			if now := time.Now(); now.Sub(due) > time.Second { // else it is what a busy machine is late by
				due = now
			}
			due = due.Add(time.Duration(n) * time.Second / time.Duration(rate.Load()))
			time.Sleep(time.Until(due))
			if _, err := c.Write(b[:n]); err != nil {
				return
			}
		}
	})
}
