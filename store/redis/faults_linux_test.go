package redis

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/servers"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
)

// calls are all that reach a server.
func calls(o *Objects) map[string]func(ctx context.Context) error {
	l := &lease{o: o, name: "lease/t/a", token: "t"}
	return map[string]func(ctx context.Context) error{
		"get": func(ctx context.Context) error {
			_, err := o.Get(ctx, "v1/t/a", 100)
			return err
		},
		"get in pieces": func(ctx context.Context) error {
			_, err := o.Get(store.WithFlow(ctx, new(followed)), "v1/t/a", DefaultMaxSize)
			return err
		},
		"get many": func(ctx context.Context) error {
			var one error
			err := o.GetMany(ctx, []string{"v1/t/a", "v1/t/b"}, 100, func(_ string, _ []byte, err error) { one = err })
			return cmp.Or(err, one)
		},
		"put":    func(ctx context.Context) error { return o.Put(ctx, "v1/t/a", make([]byte, 50_000), false) },
		"delete": func(ctx context.Context) error { return o.Delete(ctx, "v1/t/a") },
		"list": func(ctx context.Context) error {
			for _, err := range o.List(ctx, "v1/") {
				return err
			}
			return nil
		},
		"acquire": func(ctx context.Context) error {
			_, err := o.Acquire(ctx, "lease/t/a", time.Minute)
			return err
		},
		"renew":   func(ctx context.Context) error { return l.Renew(ctx, time.Minute) },
		"release": func(ctx context.Context) error { return l.Release(ctx) },
	}
}

// drip answers the commands of a connection, each reply slower than anyone waits.
func drip(c net.Conn) {
	go func() { _, _ = io.Copy(io.Discard, c) }()
	if _, err := io.WriteString(c, "-ERR no HELLO\r\n$50000\r\n"); err != nil {
		return
	}
	for {
		if _, err := c.Write([]byte("x")); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestDeadlines: rule 6. Whatever the server does, a call ends with its context, and soon after
// it nothing waits for the server any more.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	slack := 4 * time.Second // less than go-redis's own limits, and ours
	for name, addr := range map[string]string{
		"swallows": servers.BlackHole(t), "mute": servers.Mute(t), "drips": servers.Serve(t, drip),
	} {
		for _, scheme := range []string{"redis", "rediss"} {
			for what := range calls(nil) {
				if scheme == "rediss" && name == "drips" {
					continue // it speaks no TLS
				}
				t.Run(name+"/"+scheme+"/"+what, func(t *testing.T) {
					t.Parallel()
					o := open(t, scheme+"://"+addr, Options{})
					for _, how := range []string{"deadline", "cancelled"} {
						ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
						want := context.DeadlineExceeded
						if how == "cancelled" {
							var c context.CancelFunc
							ctx, c = context.WithCancel(t.Context())
							time.AfterFunc(50*time.Millisecond, c)
							want = context.Canceled
						}
						start := time.Now()
						err := calls(o)[what](ctx)
						cancel()
						if name == "drips" && what == "list" {
							want = err // a number of bytes is no list
						}
						if err == nil || !errors.Is(err, want) {
							t.Errorf("%s: %v", how, err)
						}
						if d := time.Since(start); d > slack {
							t.Errorf("%s: ended after %v", how, d)
						}
					}
					start := time.Now()
					if err := o.Close(); err != nil || time.Since(start) > slack {
						t.Errorf("close: %v, after %v", err, time.Since(start))
					}
				})
			}
		}
	}
}

// TestConnectionsEndWithTheirCalls: go-redis itself must heed the deadline, or goroutines and
// connections stay behind.
func TestConnectionsEndWithTheirCalls(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"redis", "rediss"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			open_, ended := make(chan time.Time, 1), make(chan time.Time, 1)
			o := open(t, scheme+"://"+servers.Serve(t, func(c net.Conn) {
				open_ <- time.Now()
				_, _ = io.Copy(io.Discard, c)
				ended <- time.Now()
			}), Options{})
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := o.Get(ctx, "v1/t/a", 100); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			select {
			case end := <-ended:
				if d := end.Sub(<-open_); d > 20*time.Second {
					t.Errorf("the connection lasted %v", d)
				}
			case <-time.After(25 * time.Second):
				t.Error("the connection outlives its call")
			}
		})
	}
}

// TestCallsAreMadeOnce: who calls decides whether to try again.
func TestCallsAreMadeOnce(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"redis", "rediss"} { // the latter fails while it dials
		for what := range calls(nil) {
			t.Run(scheme+"/"+what, func(t *testing.T) {
				t.Parallel()
				var n atomic.Int32
				o := open(t, scheme+"://"+servers.Serve(t, func(net.Conn) { n.Add(1) }), Options{})
				if err := calls(o)[what](within(t)); err == nil {
					t.Error("succeeds")
				}
				if n := n.Load(); n != 1 {
					t.Errorf("%d connections", n)
				}
			})
		}
	}
	o := open(t, "redis://"+servers.Refusing(t), Options{})
	for what, call := range calls(o) {
		if err := call(within(t)); err == nil || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), o.String()) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// answer is a server that gives the same reply to everything.
func answer(t testing.TB, reply string) (addr string) {
	return servers.Serve(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		for first := true; ; first = false {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			var n int
			if _, err := fmt.Sscanf(line, "*%d", &n); err != nil {
				return
			}
			for range n {
				var size int
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				if _, err := fmt.Sscanf(line, "$%d", &size); err != nil {
					return
				}
				if _, err := r.Discard(size + 2); err != nil {
					return
				}
			}
			text := reply
			if first {
				text = "-ERR unknown command 'HELLO'\r\n"
			}
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	})
}

// TestHostileReplies: nothing is allocated because a server says so, and nothing but an error
// comes of what is no reply.
func TestHostileReplies(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		"$9223372036854775807\r\n", "$99999999999\r\n", "$1048579\r\n", "$-2\r\n", "$99999999999999999999999999999\r\n", "$1x\r\n",
		"*9223372036854775807\r\n", "*99999999999\r\n", "*-2\r\n", "*1048577\r\n",
		"%99999999\r\n", "~99999999\r\n", ">99999999\r\n", "=99999999999\r\n", "!99999999999\r\n", "|9999999\r\n", "$?\r\n",
		"HTTP/1.1 400 Bad Request\r\n\r\n", "\r\n", "\n", "$5\n", "\x15\x03\x03\x00\x02\x02\x46\n", strings.Repeat("x", maxLine+1),
		"+" + strings.Repeat("x", maxLine+1), "$5\r\nhelloXX+\n",
	} {
		o := open(t, "redis://"+answer(t, reply), Options{})
		for what, call := range calls(o) {
			err := call(within(t))
			if err == nil || errors.Is(err, remote.ErrNotFound) || errors.Is(err, remote.ErrTooLarge) && !strings.HasPrefix(reply, "$5") {
				t.Errorf("%.30q: %s: %v", reply, what, err)
			}
		}
	}
	for _, reply := range []string{":1\r\n", "(99\r\n", "+OK\r\n", "*0\r\n", "$-1\r\n", "*1\r\n$1\r\na\r\n", "-ERR no\r\n", "$3\r\nabc\r\n"} {
		o := open(t, "redis://"+answer(t, reply), Options{})
		for _, call := range calls(o) {
			_ = call(within(t)) // does not panic, and ends
		}
	}
}

// TestNestedReplies: go-redis reads arrays in arrays by calling itself, and makes room for all elements of each before
// it reads the first: some megabytes of these would end the process.
func TestNestedReplies(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		strings.Repeat("*1\r\n", 100_000), strings.Repeat("*1048576\r\n", 1000), strings.Repeat("*2\r\n+x\r\n", 100), strings.Repeat("%1\r\n", 100),
		strings.Repeat("*1\r\n|1\r\n+k\r\n+v\r\n", 100),
	} {
		if c := (checker{maxBulk: 50}); c.write([]byte(reply)) == nil {
			t.Errorf("%.30q passes", reply)
		}
		// A script's answer may be of any type, a lease's release is one.
		o := open(t, "redis://"+servers.Serve(t, func(c net.Conn) {
			for _, text := range []string{"-ERR unknown command 'HELLO'\r\n", "+OK\r\n", reply} {
				if _, err := c.Read(make([]byte, 1<<16)); err != nil {
					return
				}
				_, _ = io.WriteString(c, text)
			}
		}), Options{})
		lease, err := o.Acquire(within(t), "lease/t/a", time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(within(t)); err == nil || !strings.Contains(err.Error(), "arrays in one another") {
			t.Errorf("%.30q: %v", reply, err)
		}
	}
	// One after the other they may be many, of all kinds.
	one := "*3\r\n$1\r\na\r\n*0\r\n*2\r\n:1\r\n*-1\r\n%1\r\n+k\r\n*1\r\n$-1\r\n|1\r\n+k\r\n+v\r\n*1\r\n|0\r\n_\r\n>1\r\n+x\r\n-E\r\n"
	c := checker{maxBulk: 50}
	if err := c.write([]byte(strings.Repeat(one, 1000))); err != nil || len(c.open) != 0 {
		t.Errorf("%v, %v are open", err, c.open)
	}
}

func FuzzChecker(f *testing.F) {
	for _, s := range []string{"+OK\r\n", "$3\r\nabc\r\n*2\r\n:1\r\n$-1\r\n", "$99\r\n", "x", "*5\r\n", "$0\r\n\r\n-E\r\n"} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		whole, pieces := checker{maxBulk: 50}, checker{maxBulk: 50}
		want := whole.write(b)
		for rest := b; len(rest) > 0; {
			n := min(max(cut%7, 1), len(rest))
			_ = pieces.write(rest[:n])
			rest = rest[n:]
		}
		if fmt.Sprint(want) != fmt.Sprint(pieces.bad) {
			t.Errorf("%q: at once %v, in pieces %v", b, want, pieces.bad)
		}
		// What passes announces no more than is allowed, wherever it stands as a line of its own.
		if want == nil && strings.HasPrefix(string(b), "$51\r\n") {
			t.Errorf("%q passes", b)
		}
	})
}

// TestServerComesBack: a connection that the server closed meanwhile is not used.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t)
	_, port, _ := net.SplitHostPort(s.Addr)
	o := open(t, "redis://"+s.Addr, Options{})
	put(t, o, "v1/t/a", "x")
	s.Stop()
	if _, err := o.Get(within(t), "v1/t/a", 10); err == nil || errors.Is(err, remote.ErrNotFound) {
		t.Errorf("get from a server that is gone: %v", err)
	}
	servers.StartRedis(t, "--port", port)
	if _, err := o.Get(within(t), "v1/t/a", 10); !errors.Is(err, remote.ErrNotFound) {
		t.Errorf("get from a server that was started again: %v", err)
	}
	s2 := servers.StartRedis(t)
	o2 := open(t, "redis://"+s2.Addr, Options{})
	put(t, o2, "v1/t/a", "x")
	s2.Do(t, "CLIENT KILL TYPE normal SKIPME yes")
	if b, err := o2.Get(within(t), "v1/t/a", 10); string(b) != "x" {
		t.Errorf("get after the server closed the connection: %q, %v", b, err)
	}
}

// TestNoPasswordInErrors searches all that errors say for the passwords.
func TestNoPasswordInErrors(t *testing.T) {
	t.Parallel()
	const password = `tops%2Fecret%25%22`
	secrets := []string{`tops/ecret%"`, password, "tops%2Fecret", "ecret"}
	check := func(where string, err error) {
		t.Helper()
		for _, text := range append(texts(err), fmt.Sprintf("%+v %#v", err, err)) {
			for _, s := range secrets {
				if strings.Contains(text, s) {
					t.Errorf("%s: %s", where, text)
				}
			}
		}
	}
	guarded := servers.StartRedis(t, "--requirepass", "another")
	for name, target := range map[string]string{
		"wrong":    "redis://user:" + password + "@" + guarded.Addr,
		"default":  "redis://:" + password + "@" + guarded.Addr,
		"refused":  "redis://user:" + password + "@" + servers.Refusing(t),
		"TLS":      "rediss://user:" + password + "@" + servers.Serve(t, func(net.Conn) {}),
		"echo":     "redis://user:" + password + "@" + answer(t, "-ERR unknown command `AUTH`, with args beginning with: `user`, `tops/ecret%\"`\r\n"),
		"quoted":   "redis://user:" + password + "@" + answer(t, "-ERR unknown command `AUTH`, with args beginning with: \"tops/ecret%\\\"\"\r\n"),
		"no":       "redis://user:" + password + "@" + answer(t, "tops/ecret%\"\r\n"),
		"long":     "redis://user:" + password + "@" + answer(t, "$tops/ecret%\"\r\n"),
		"sentinel": "redis://user:" + password + "@" + guarded.Addr + "?sentinel-master=m&sentinel-password=" + password,
		"cluster":  "redis://user:" + password + "@" + guarded.Addr + "?cluster=true",
	} {
		o := open(t, target, Options{})
		for what, call := range calls(o) {
			err := call(within(t))
			if err == nil {
				t.Errorf("%s: %s succeeds", name, what)
			}
			check(name+": "+what, err)
		}
		for _, s := range secrets {
			if strings.Contains(fmt.Sprintf("%v %s", o, o), s) {
				t.Errorf("%s: %v", name, o)
			}
		}
	}
}

// texts returns the texts of an error and of all that it wraps.
func texts(err error) (all []string) {
	if err == nil {
		return nil
	}
	all = append(all, err.Error())
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		all = append(all, texts(e.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, texts(inner)...)
		}
	}
	return all
}

// TestNothingIsPrinted: the standard error of the process is the application's.
func TestNothingIsPrinted(t *testing.T) {
	t.Parallel()
	const child = "REDIS_TEST_PRINTS"
	if addr := os.Getenv(child); addr != "" {
		o := open(t, "redis://"+addr, Options{})
		_, err := o.Get(within(t), "v1/t/a", 10)
		fmt.Println("got", err)
		return
	}
	c := exec.Command(os.Args[0], "-test.run=^TestNothingIsPrinted$")
	c.Env = append(os.Environ(), child+"="+servers.Refusing(t))
	var stdout, stderr strings.Builder
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil || !strings.Contains(stdout.String(), "refused") || stderr.String() != "" {
		t.Errorf("%v; it prints %q, %q", err, stdout.String(), stderr.String())
	}
}
