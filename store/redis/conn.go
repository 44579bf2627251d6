package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

const (
	minBulk     = 64 << 10 // what other replies than objects need
	maxElements = 1 << 20  // of an array
	maxDepth    = 8        // of arrays in one another: go-redis calls itself for each
	maxLine     = 64 << 10 // bytes; an error's text, for instance
)

// A dialer connects to servers, over TLS if tls is set. (go-redis's own ignores its context
// during a TLS handshake.)
type dialer struct {
	tls     *tls.Config
	maxBulk int64
}

func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	nd := &net.Dialer{}
	if d.tls != nil {
		c, err := (&tls.Dialer{NetDialer: nd, Config: d.tls}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c, check: checker{maxBulk: d.maxBulk}}, nil
	}
	c, err := nd.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	checked := conn{Conn: c, check: checker{maxBulk: d.maxBulk}}
	if sys, ok := c.(syscall.Conn); ok {
		return &plainConn{checked, sys}, nil
	}
	return &checked, nil
}

// A conn fails when the server announces more than it has been asked for: go-redis allocates
// what is announced, so a few bytes of a hostile server, or of one that is no Redis, would end
// the process.
type conn struct {
	net.Conn
	check checker
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if bad := c.check.write(b[:n]); bad != nil {
		_ = c.Conn.Close()
		return 0, bad
	}
	return n, err
}

// A plainConn is one that go-redis can ask, before it uses it again, whether the server has
// closed it.
type plainConn struct {
	conn
	sys syscall.Conn
}

func (c *plainConn) SyscallConn() (syscall.RawConn, error) { return c.sys.SyscallConn() }

// A checker reads the lengths in a stream of Redis's protocol, which is lines, some of which announce
// a number of bytes (a bulk) or of elements. (Sentinels are spoken to in the protocol's version 3,
// whatever is asked for.)
type checker struct {
	maxBulk int64
	skip    int64  // bytes of a bulk, with its end of line, that are still to come
	line    []byte // the beginning of a line, as far as it matters
	length  int    // of the line so far
	open    []aggregate
	bad     error
}

// An aggregate is an array or the like whose elements are still to come.
type aggregate struct {
	left      int64
	attribute bool // about the value that follows, and none itself
}

// value notes that a value is complete, and with it, where it is the last, what it is an element of.
func (c *checker) value() {
	for i := len(c.open) - 1; i >= 0; i-- {
		if c.open[i].left--; c.open[i].left > 0 {
			return
		}
		attribute := c.open[i].attribute
		if c.open = c.open[:i]; attribute {
			return
		}
	}
}

// keep is how much of a line is kept: a type and a number.
const keep = 24

var errNoRedis = errors.New("the server does not speak Redis's protocol")

// write checks what comes next. After an error it returns that always.
func (c *checker) write(b []byte) error {
	for len(b) > 0 && c.bad == nil {
		if c.skip > 0 {
			n := min(c.skip, int64(len(b)))
			c.skip -= n
			b = b[n:]
			continue
		}
		char := b[0]
		b = b[1:]
		if char != '\n' {
			if c.length++; c.length > maxLine {
				c.bad = fmt.Errorf("%w: a line is longer than %d bytes", errNoRedis, maxLine)
			}
			if len(c.line) < keep {
				c.line = append(c.line, char)
			}
			continue
		}
		c.endLine()
		c.line, c.length = c.line[:0], 0
	}
	return c.bad
}

func (c *checker) endLine() {
	if len(c.line) < 2 || c.length <= keep && c.line[len(c.line)-1] != '\r' {
		c.bad = errNoRedis
		return
	}
	bulk := false
	switch c.line[0] {
	case '+', '-', ':', '_', ',', '#', '(':
		c.value()
		return
	case '$', '=', '!':
		bulk = true
	case '*', '%', '~', '>', '|':
	default:
		c.bad = errNoRedis
		return
	}
	n, err := strconv.ParseInt(string(c.line[1:len(c.line)-1]), 10, 64)
	switch {
	case err != nil || n < -1 || c.length > keep:
		c.bad = errNoRedis
	case bulk && n > c.maxBulk:
		c.bad = fmt.Errorf("the server announces %d bytes, more than %d", n, c.maxBulk)
	case bulk:
		if n >= 0 {
			c.skip = n + 2
		}
		c.value()
	case n > maxElements:
		c.bad = fmt.Errorf("the server announces %d elements, more than %d", n, maxElements)
	case n <= 0:
		if c.line[0] != '|' {
			c.value()
		}
	case len(c.open) == maxDepth:
		c.bad = fmt.Errorf("the server announces arrays in one another, more than %d", maxDepth)
	default:
		if c.line[0] == '%' || c.line[0] == '|' {
			n *= 2
		}
		c.open = append(c.open, aggregate{n, c.line[0] == '|'})
	}
}
