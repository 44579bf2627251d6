package bundles

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// silence is the time that a registry may send and take nothing. Registries work out the digest
// of a layer before they answer, for which a minute is too short where layers are large.
const silence = 2 * time.Minute

// options are those of every call of a registry.
func options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithTransport(transport(silence))}
}

// transport returns the transport of go-containerregistry, whose connections end with an error
// after a time without a byte in either direction.
func transport(limit time.Duration) http.RoundTripper {
	t := remote.DefaultTransport.(*http.Transport).Clone()
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newWatched(c, limit), nil
	}
	return t
}

// watched is a connection that ends after a time of silence. Its own deadlines are not for its users.
type watched struct {
	net.Conn
	limit time.Duration
	start time.Time
	last  atomic.Int64 // when a byte moved, in nanoseconds since start
}

func newWatched(c net.Conn, limit time.Duration) *watched {
	return &watched{Conn: c, limit: limit, start: time.Now()}
}

func (c *watched) Read(b []byte) (int, error) {
	return c.move(b, c.Conn.Read, c.Conn.SetReadDeadline)
}

func (c *watched) Write(b []byte) (int, error) {
	done := 0
	for {
		n, err := c.move(b[done:], c.Conn.Write, c.Conn.SetWriteDeadline)
		if done += n; err != nil || done == len(b) {
			return done, err
		}
	}
}

// move calls until something has moved here, or nothing has in either direction for the limit.
func (c *watched) move(b []byte, call func([]byte) (int, error), deadline func(time.Time) error) (int, error) {
	for {
		// It fails for a closed connection only, of which the call tells.
		_ = deadline(c.start.Add(time.Duration(c.last.Load()) + c.limit))
		n, err := call(b)
		if n > 0 {
			c.last.Store(int64(time.Since(c.start)))
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
		if time.Since(c.start)-time.Duration(c.last.Load()) >= c.limit {
			// No timeout by its type: go-containerregistry repeats those.
			return 0, fmt.Errorf("%s sent and took nothing for %v", c.RemoteAddr(), c.limit)
		}
	}
}
