//go:build !linux

package agent

import (
	"errors"
	"fmt"
	"net"
)

// There is no agent here: nothing tells who connects.

type peer struct {
	uid  uint32
	gids []uint32
}

// ErrServed is wrapped where an agent serves at a socket already.
var ErrServed = errors.New("an agent serves there already")

// Listen returns an error.
func Listen(path string, _ bool) (*net.UnixListener, error) {
	return nil, fmt.Errorf("listen at %s: there is an agent on Linux only: %w", path, errors.ErrUnsupported)
}

// Activated returns nil.
func Activated() (*net.UnixListener, error) { return nil, nil }

// Notify does nothing.
func Notify(string) {}

func (s *Server) admit(c *net.UnixConn) {
	defer s.answers.Done()
	c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}
