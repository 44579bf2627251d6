package bundles

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestSilence: a connection ends when nothing moves in either direction for the limit, and not before.
func TestSilence(t *testing.T) {
	t.Parallel()
	const silent = "sent and took nothing for 1m0s"
	for name, play := range map[string]func(c, peer net.Conn) (want string, after time.Duration, err error){
		"nothing is sent": func(c, peer net.Conn) (string, time.Duration, error) {
			_, err := c.Read(make([]byte, 1))
			return silent, time.Minute, err
		},
		"nothing is taken": func(c, peer net.Conn) (string, time.Duration, error) {
			_, err := c.Write([]byte("x"))
			return silent, time.Minute, err
		},
		"drips": func(c, peer net.Conn) (string, time.Duration, error) {
			go func() {
				for range 3 {
					time.Sleep(59 * time.Second)
					_, _ = peer.Write([]byte("x"))
				}
			}()
			_, err := io.ReadFull(c, make([]byte, 4))
			return silent, 3*59*time.Second + time.Minute, err
		},
		"waits for an answer while it sends": func(c, peer net.Conn) (string, time.Duration, error) {
			go func() {
				for range 3 {
					_, _ = c.Write([]byte("x"))
				}
			}()
			go func() {
				for range 3 {
					time.Sleep(59 * time.Second)
					_, _ = peer.Read(make([]byte, 1))
				}
				_, _ = peer.Write([]byte("x"))
			}()
			_, err := c.Read(make([]byte, 1))
			return "", 3 * 59 * time.Second, err
		},
		"closed": func(c, peer net.Conn) (string, time.Duration, error) {
			peer.Close()
			_, err := c.Read(make([]byte, 1))
			return "EOF", 0, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				near, peer := net.Pipe()
				defer near.Close()
				defer peer.Close()
				start := time.Now()
				want, after, err := play(newWatched(near, time.Minute), peer)
				got := ""
				if err != nil {
					got = err.Error()
				}
				if !strings.HasSuffix(got, want) || want == "" && err != nil || time.Since(start) != after {
					t.Errorf("%q after %v, want %q after %v", got, time.Since(start), want, after)
				}
			})
		})
	}
}

// TestSilentRegistry: a registry that takes a request and says nothing is given up once.
func TestSilentRegistry(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	ref, err := name.ParseReference(l.Addr().String() + "/team/kernels:580")
	if err != nil {
		t.Fatal(err)
	}
	_, err = remote.Image(ref, remote.WithContext(t.Context()), remote.WithTransport(transport(50*time.Millisecond)))
	if err == nil || !strings.Contains(err.Error(), "sent and took nothing for 50ms") {
		t.Error(err)
	}
	l.Close()
	n := 0
	for c := range accepted {
		c.Close()
		n++
	}
	if n > 2 { // https is tried, then http
		t.Errorf("%d connections", n)
	}
}
