package servers

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/needs"
)

const databases = 10_000

var (
	shared       = sync.OnceValues(func() (*process, error) { return startRedis(nil) })
	lastDatabase atomic.Int64
)

// Redis returns the URL of an empty database in a Redis server that the tests of this process
// share: each call returns another one. It may be used as long as the process lives.
func Redis(t testing.TB) string {
	t.Helper()
	needs.Tool(t, "redis-server", "redis-server")
	p, err := shared()
	must(t, p, err)
	n := lastDatabase.Add(1)
	if n >= databases {
		t.Fatalf("a test process has used all %d databases of its server", databases)
	}
	return fmt.Sprintf("redis://127.0.0.1:%d/%d", p.port, n)
}

// A RedisServer is one for a single test, which ends it.
type RedisServer struct {
	Addr   string // 127.0.0.1:port
	Socket string // path of its unix socket
	Dir    string // its working directory

	p *process
}

// StartRedis starts a Redis server with further arguments, in which PORT stands for its port and
// PORT2 for one more; without --port among them it listens there without TLS. A first argument that
// is no option is a configuration file.
func StartRedis(t testing.TB, args ...string) *RedisServer {
	t.Helper()
	needs.Tool(t, "redis-server", "redis-server")
	p, err := startRedis(args)
	must(t, p, err)
	t.Cleanup(p.stop)
	return &RedisServer{Addr: fmt.Sprintf("127.0.0.1:%d", p.port), Socket: filepath.Join(p.dir, "s"), Dir: p.dir, p: p}
}

// Stop kills the server. It returns when nobody listens any more.
func (r *RedisServer) Stop() {
	r.p.stop()
	for redisReady(r.p) {
		time.Sleep(time.Millisecond)
	}
}

// Do sends a command without spaces in its words, and returns the first line of the reply.
func (r *RedisServer) Do(t testing.TB, command string) string {
	t.Helper()
	return r.Lines(t, command)[0]
}

// Lines sends a command without spaces in its words, and returns all lines of the reply, in Redis's
// protocol.
func (r *RedisServer) Lines(t testing.TB, command string) []string {
	t.Helper()
	reply, err := redisDo(r.Socket, command)
	if err != nil || len(reply) == 0 {
		t.Fatalf("redis: %s: %v", command, err)
	}
	return reply
}

func startRedis(args []string) (*process, error) {
	return start(redisReady, func(dir string, _ int) ([]string, error) {
		line, args := []string{"redis-server"}, slices.Clone(args)
		if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			line, args = append(line, args[0]), args[1:]
		}
		line = append(line, "--bind", "127.0.0.1", "--dir", dir, "--unixsocket", filepath.Join(dir, "s"),
			"--save", "", "--appendonly", "no", "--databases", fmt.Sprint(databases), "--daemonize", "no")
		if !slices.Contains(args, "--port") {
			line = append(line, "--port", port)
		}
		return append(line, args...), nil
	})
}

// redisReady asks through the socket, which no other server has: a server that does not get
// its port ends before it makes one.
func redisReady(p *process) bool {
	_, err := redisDo(filepath.Join(p.dir, "s"), "PING")
	return err == nil
}

func redisDo(socket, command string) ([]string, error) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(c, "%s\r\n", command); err != nil {
		return nil, err
	}
	var lines []string
	r := bufio.NewReader(c)
	for left := 1; left > 0; left-- {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		lines = append(lines, strings.TrimRight(line, "\r\n"))
		n, _ := strconv.Atoi(strings.TrimRight(line[1:], "\r\n"))
		switch {
		case line[0] == '*' && n > 0:
			left += n
		case line[0] == '$' && n >= 0:
			b := make([]byte, n+2)
			if _, err := io.ReadFull(r, b); err != nil {
				return nil, err
			}
			lines = append(lines, strings.Split(string(b[:n]), "\r\n")...)
		}
	}
	return lines, nil
}
