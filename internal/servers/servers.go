// Package servers starts real servers for tests, on this machine's loopback interface. None
// outlives the process that started it, however that ends.
package servers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long a server may take to start on a busy machine.
const patience = 30 * time.Second

// These stand for free ports in the arguments of a server.
const (
	port  = "PORT" // its own
	port2 = "PORT2"
)

// A process is a server that runs.
type process struct {
	dir   string // its own, removed with it
	port  int
	guard *exec.Cmd
	alive io.Closer // the server ends when this does
}

// The guard runs a server until its standard input ends, which is what happens last to the
// process that started it.
const guard = `dir=$1; shift
"$@" >"$dir/log" 2>&1 </dev/null &
server=$!
(cat >/dev/null; kill -9 $server) <&3 2>/dev/null &
watch=$!
wait $server; status=$?
kill $watch 2>/dev/null
[ -e "$dir/keep" ] || rm -rf "$dir"
exit $status`

// start starts a server whose arguments name a free port, and returns when ready reports that
// it accepts connections. A port that somebody else takes first is no failure: args is called again.
func start(ready func(p *process) bool, args func(dir string, port int) ([]string, error)) (*process, error) {
	for attempt := 0; ; attempt++ {
		p, err := startOnce(ready, args)
		if err == nil || attempt == 5 {
			return p, err
		}
	}
}

func startOnce(ready func(p *process) bool, args func(dir string, port int) ([]string, error)) (*process, error) {
	// The paths of sockets are short.
	dir, err := os.MkdirTemp("", "ks")
	if err != nil {
		return nil, err
	}
	free, err := freePort()
	if err != nil {
		return nil, err
	}
	second, err := freePort()
	if err != nil {
		return nil, err
	}
	line, err := args(dir, free)
	if err != nil {
		return nil, err
	}
	for i := range line {
		line[i] = strings.ReplaceAll(strings.ReplaceAll(line[i], port2, strconv.Itoa(second)), port, strconv.Itoa(free))
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p := &process{dir: dir, port: free, alive: w}
	p.guard = exec.Command("sh", append([]string{"-c", guard, "sh", dir}, line...)...)
	p.guard.ExtraFiles = []*os.File{r}
	if err := os.WriteFile(filepath.Join(dir, "keep"), nil, 0o600); err != nil {
		return nil, err
	}
	if err := p.guard.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- p.guard.Wait() }()
	for deadline := time.Now().Add(patience); !ready(p); time.Sleep(5 * time.Millisecond) {
		var status error
		select {
		case status = <-ended:
		default:
			if time.Now().Before(deadline) {
				continue
			}
			status = errors.New("is not ready in time")
			w.Close()
			<-ended
		}
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		os.RemoveAll(dir)
		return nil, fmt.Errorf("%s: %w: %s", line[0], status, bytes.TrimSpace(log))
	}
	go func() { <-ended }()
	return p, os.Remove(filepath.Join(dir, "keep"))
}

// stop kills the server, if it still runs.
func (p *process) stop() { p.alive.Close() }

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// must fails a test whose server does not start.
func must(t testing.TB, p *process, err error) *process {
	t.Helper()
	if err != nil {
		t.Fatalf("start %v", err)
	}
	return p
}
