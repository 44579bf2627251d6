package agent

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kernstash/kernstash/agent/client"
	"github.com/kernstash/kernstash/agent/internal/protocol"
	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/trust"
)

// roleVar makes this binary something else than tests: see roles.
const roleVar = "KERNSTASH_AGENT_ROLE"

// asked is what a process with a role is to do.
type asked struct {
	Socket, Dir string
	Tenants     []Tenant
	Keys        []string // seeds of entries
	Hold        bool     // a lock, until standard input ends
	Signed      bool     // the agent asks for signatures, with a key of its own
}

var roles = map[string]func(asked) error{"agent": beAgent, "user": beUser, "parent": beParent, "flood": beFlood}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		var a asked
		err := json.NewDecoder(os.Stdin).Decode(&a)
		if err == nil {
			err = roles[role](a)
		}
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	status := m.Run()
	if readableIn != "" {
		os.RemoveAll(readableIn)
	}
	os.Exit(status)
}

// readableIn is the directory of readable's copy; "": there is none.
var readableIn string

// beAgent serves until it is killed, or its standard input ends.
func beAgent(a asked) error {
	var o Options
	if a.Signed {
		k := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		o = signed(remote.Options{Sign: k, Trust: trust.Of(k.Public().(ed25519.PublicKey))}, nil)
	}
	o.Dir, o.Tenants = a.Dir, a.Tenants
	s, err := New(o)
	if err != nil {
		return err
	}
	l, err := Activated()
	if l == nil && err == nil {
		l, err = Listen(a.Socket, true)
	}
	if err != nil {
		return err
	}
	fmt.Println("serving")
	Notify("READY=1")
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		s.Shutdown(ctx)
	}()
	return s.Serve(l)
}

// beUser stores an entry of the first seed, and says which of all seeds it finds.
func beUser(a asked) error {
	c, ctx := patient(a.Socket), context.Background()
	if len(a.Keys) == 0 {
		return nil
	}
	t := new(testing.T)
	_, err := c.Put(ctx, storetest.New(t, a.Keys[0], 1000))
	fmt.Println("put", err == nil, errors.Is(err, client.ErrRefused))
	for _, seed := range a.Keys {
		e := storetest.New(t, seed, 1000)
		got, err := c.Get(ctx, e.Key)
		fmt.Println(seed, err == nil && bytes.Equal(got.Artifact.Binaries[0].Data, e.Artifact.Binaries[0].Data))
	}
	unlock, err := c.Lock(ctx, storetest.New(t, "the lock of both", 1).Key, 0)
	fmt.Println("lock", err == nil)
	if err == nil {
		defer unlock()
	}
	if a.Hold {
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	return nil
}

// beParent takes a lock, and has a child with the connection.
func beParent(a asked) error {
	t := new(testing.T)
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: a.Socket, Net: "unix"})
	if err != nil {
		return err
	}
	k := protocol.AppendKey(nil, storetest.New(t, "the lock of both", 1).Key)
	_, err = io.WriteString(c, head(protocol.Lock, len(k), string(k)))
	b := make([]byte, protocol.HeadBytes)
	if err == nil {
		_, err = io.ReadFull(c, b)
	}
	if err != nil {
		return err
	}
	f, err := c.File()
	if err != nil {
		return err
	}
	child := exec.Command("sleep", "600")
	child.ExtraFiles = []*os.File{f}
	if err := child.Start(); err != nil {
		return err
	}
	fmt.Println(child.Process.Pid)
	select {}
}

// beFlood opens connections, says nothing, and opens others when they end.
func beFlood(a asked) error {
	const many = 64
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			for first := true; ; first = false {
				c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: a.Socket, Net: "unix"})
				if err == nil {
					if first {
						fmt.Println("connected")
					}
					time.Sleep(100 * time.Millisecond) // and does not hear that it is refused
					c.Close()
				}
			}
		})
	}
	all.Wait()
	return nil
}

// process starts this binary in a role; uid 0 is the own user.
func process(t testing.TB, role string, uid uint32, a asked, change ...func(*exec.Cmd)) (*exec.Cmd, *bufio.Reader, io.WriteCloser) {
	t.Helper()
	program := os.Args[0]
	if uid != 0 {
		program = readable(t)
	}
	c := exec.Command(program)
	c.Dir = "/"
	c.Env = append(os.Environ(), roleVar+"="+role)
	if uid != 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	c.Stderr = os.Stderr
	for _, f := range change {
		f(c)
	}
	in, err := c.StdinPipe()
	must(t, err)
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	b, err := json.Marshal(a)
	must(t, err)
	_, err = in.Write(b)
	must(t, err)
	return c, bufio.NewReader(out), in
}

// readable returns a copy of this binary that every user can run.
var readable = func() func(t testing.TB) string {
	var once sync.Once
	var path string
	return func(t testing.TB) string {
		once.Do(func() {
			dir, err := os.MkdirTemp("/tmp", "ks-agent-bin-")
			must(t, err)
			readableIn = dir
			must(t, os.Chmod(dir, 0o755))
			self, err := os.ReadFile(os.Args[0])
			must(t, err)
			path = filepath.Join(dir, "test")
			must(t, needs.WriteProgram(path, self, 0o755))
		})
		return path
	}
}()

func startAgent(t testing.TB, uid uint32, a asked) (c *exec.Cmd, in io.Closer) {
	t.Helper()
	c, out, in := process(t, "agent", uid, a)
	if line, err := out.ReadString('\n'); line != "serving\n" {
		t.Fatalf("the agent says %q, %v", line, err)
	}
	return c, in
}

// TestKilledAgent kills the agent again and again while applications get, put and lock: what
// they get is right or a miss, and no call takes long or fails in another way.
func TestKilledAgent(t *testing.T) {
	t.Parallel()
	for name, signed := range map[string]bool{"plain": false, "signed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killAgents(t, signed)
		})
	}
}

func killAgents(t *testing.T, signed bool) {
	dir := shortDir(t)
	a := asked{Socket: filepath.Join(dir, "agent.sock"), Dir: filepath.Join(dir, "node"), Tenants: own(), Signed: signed}
	process, _ := startAgent(t, 0, a)
	stop := make(chan struct{})
	var all sync.WaitGroup
	var hits, puts int64
	var mu sync.Mutex
	for n := range 4 {
		all.Go(func() {
			ctx, seed := context.Background(), rand.New(rand.NewPCG(uint64(n), 1))
			for {
				select {
				case <-stop:
					return
				default:
				}
				c := client.New(client.Options{Paths: []string{a.Socket}, Timeout: 10 * time.Second})
				e := storetest.New(t, fmt.Sprint("killed ", seed.IntN(20)), 1+seed.IntN(100_000))
				unlock, err := c.Lock(ctx, e.Key, 0)
				if err == nil {
					unlock()
				}
				got, err := c.Get(ctx, e.Key)
				switch {
				case err == nil:
					code := got.Artifact.Binaries[0].Data
					if want := storetest.Code(fmt.Sprint("killed ", strings.TrimPrefix(got.Artifact.Kernels[0].Name, "kernel_killed ")), len(code)); !bytes.Equal(code, want) || got.Key != e.Key {
						t.Error("a wrong entry")
					}
					mu.Lock()
					hits++
					mu.Unlock()
				case !isMiss(err):
					t.Errorf("get: %v", err)
				}
				if _, err := c.Put(ctx, e); err == nil {
					mu.Lock()
					puts++
					mu.Unlock()
				}
			}
		})
	}
	random := rand.New(rand.NewPCG(7, 7))
	for range 15 {
		time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond) // the random point
		must(t, process.Process.Kill())
		_ = process.Wait()
		process, _ = startAgent(t, 0, a)
	}
	close(stop)
	all.Wait()
	c := patient(a.Socket)
	e := storetest.New(t, "after", 10)
	_, err := c.Put(context.Background(), e)
	must(t, err)
	_, err = c.Get(context.Background(), e.Key)
	must(t, err)
	t.Logf("%d hits, %d puts", hits, puts)
	if hits == 0 || puts == 0 {
		t.Error("nothing was served")
	}
}

// TestLivingAgentStays starts a second agent at the socket of a living one, and of one that ended.
func TestLivingAgentStays(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	a := asked{Socket: filepath.Join(dir, "agent.sock"), Dir: filepath.Join(dir, "node"), Tenants: own()}
	first, in := startAgent(t, 0, a)
	if _, err := Listen(a.Socket, true); !errors.Is(err, ErrServed) {
		t.Errorf("beside a living agent: %v", err)
	}
	if _, err := patient(a.Socket).Put(context.Background(), storetest.New(t, "first", 1)); err != nil {
		t.Errorf("it was disturbed: %v", err)
	}
	in.Close()
	must(t, first.Wait())
	if _, err := os.Lstat(a.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket of an agent that ended: %v", err)
	}
	l, err := Listen(a.Socket, true)
	must(t, err)
	l.Close()
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("precious"), 0o600))
	if _, err := Listen(filepath.Join(dir, "file"), true); err == nil {
		t.Error("a file was taken for a socket")
	}
}

// TestSystemd starts an agent as systemd does, with the socket, and hears that it is ready.
func TestSystemd(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	socket, notify := filepath.Join(dir, "agent.sock"), filepath.Join(dir, "notify")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	must(t, err)
	defer l.Close()
	f, err := l.File()
	must(t, err)
	defer f.Close()
	heard, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
	must(t, err)
	defer heard.Close()
	c := exec.Command("sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$0"`, os.Args[0])
	c.Env = append(os.Environ(), roleVar+"=agent", "NOTIFY_SOCKET="+notify)
	c.ExtraFiles = []*os.File{f}
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	must(t, err)
	must(t, c.Start())
	t.Cleanup(func() {
		in.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	})
	must(t, json.NewEncoder(in).Encode(asked{Socket: filepath.Join(dir, "no", "other"), Dir: filepath.Join(dir, "node"), Tenants: own()}))
	must(t, heard.SetDeadline(time.Now().Add(time.Minute)))
	b := make([]byte, 100)
	n, err := heard.Read(b)
	if err != nil || string(b[:n]) != "READY=1" {
		t.Fatalf("%q, %v", b[:n], err)
	}
	if _, err := patient(socket).Put(context.Background(), storetest.New(t, "systemd", 1)); err != nil {
		t.Error(err)
	}
}

// TestLockEndsWithItsProcess kills a process that holds a lock.
func TestLockEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	_, socket := start(t, Options{})
	holder, out, _ := process(t, "user", 0, asked{Socket: socket, Keys: []string{"a"}, Hold: true})
	for line := ""; line != "lock true\n"; {
		var err error
		line, err = out.ReadString('\n')
		must(t, err)
	}
	k := storetest.New(t, "the lock of both", 1).Key
	if _, err := patient(socket).Lock(context.Background(), k, 0); !errors.Is(err, store.ErrLocked) {
		t.Fatalf("while it lives: %v", err)
	}
	must(t, holder.Process.Kill())
	unlock, err := patient(socket).Lock(context.Background(), k, time.Minute)
	must(t, err)
	unlock()
}

// TestLockEndsWithoutItsChildren kills a process that holds a lock, and whose child has its
// connection, as after fork.
func TestLockEndsWithoutItsChildren(t *testing.T) {
	t.Parallel()
	_, socket := start(t, Options{})
	holder, out, _ := process(t, "parent", 0, asked{Socket: socket})
	line, err := out.ReadString('\n')
	must(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(line))
	must(t, err)
	t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })
	k := storetest.New(t, "the lock of both", 1).Key
	if _, err := patient(socket).Lock(context.Background(), k, 0); !errors.Is(err, store.ErrLocked) {
		t.Fatalf("while it lives: %v", err)
	}
	must(t, holder.Process.Kill())
	_ = holder.Wait()
	unlock, err := patient(socket).Lock(context.Background(), k, time.Minute)
	must(t, err)
	unlock()
}

func TestTwoUsers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can be other users")
	}
	const one, other, third, reader = 65533, 65532, 65531, 65530
	_, everybodys := start(t, Options{Tenants: []Tenant{{Name: "all", Anyone: true, Write: true}}})
	_, socket := start(t, Options{Tenants: []Tenant{
		{Name: "one", UIDs: []uint32{one}, Write: true},
		{Name: "other", GIDs: []uint32{other}, Write: true},
		{Name: "reader", UIDs: []uint32{reader}},
	}})
	must(t, os.Chmod(filepath.Dir(socket), 0o755))
	must(t, os.Chmod(filepath.Dir(everybodys), 0o755))
	says := func(socket string, uid uint32, keys ...string) string {
		_, out, in := process(t, "user", uid, asked{Socket: socket, Keys: keys})
		in.Close()
		b, err := io.ReadAll(out)
		must(t, err)
		return string(b)
	}
	for _, test := range []struct {
		uid  uint32
		keys []string
		want string
	}{
		{one, []string{"a", "b"}, "put true false\na true\nb false\nlock true\n"},
		{other, []string{"b", "a"}, "put true false\nb true\na false\nlock true\n"},
		{one, []string{"c", "a", "b"}, "put true false\nc true\na true\nb false\nlock true\n"},
		{third, []string{"d", "a", "b"}, "put false true\nd false\na false\nb false\nlock false\n"},
		{reader, []string{"a"}, "put false true\na false\nlock false\n"},
	} {
		if got := says(socket, test.uid, test.keys...); got != test.want {
			t.Errorf("user %d says %q, want %q", test.uid, got, test.want)
		}
	}
	for uid, want := range map[uint32]string{one: "put true false\na true\nlock true\n", 0: "put false true\na false\nlock false\n"} {
		if got := says(everybodys, uid, "a"); got != want {
			t.Errorf("everybody's: user %d says %q, want %q", uid, got, want)
		}
	}
}

// TestWrongPeer has other users offer a socket.
func TestWrongPeer(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can be other users")
	}
	const stranger = 65533
	dir := shortDir(t)
	must(t, os.Chown(dir, stranger, stranger))
	a := asked{Socket: filepath.Join(dir, "agent.sock"), Dir: filepath.Join(dir, "node"), Tenants: []Tenant{{Name: "all", Anyone: true, Write: true}}}
	startAgent(t, stranger, a)
	e := storetest.New(t, "peer", 1)
	refused := func(why string, o client.Options) {
		t.Helper()
		o.Timeout = time.Minute
		c := client.New(o)
		if _, err := c.Put(context.Background(), e); !errors.Is(err, client.ErrUntrusted) {
			t.Errorf("%s: %v", why, err)
		}
		if _, err := c.Get(context.Background(), e.Key); !isMiss(err) {
			t.Errorf("%s: %v", why, err)
		}
	}
	refused("a stranger's directory", client.Options{Paths: []string{a.Socket}})
	c := client.New(client.Options{Paths: []string{a.Socket}, UIDs: []uint32{stranger}, Timeout: time.Minute})
	if _, err := c.Put(context.Background(), e); !errors.Is(err, client.ErrRefused) { // it is asked; and root is not everybody
		t.Errorf("a user that the settings name: %v", err)
	}
	// Somebody moved the socket where it looks like ours.
	moved := filepath.Join(shortDir(t), "agent.sock")
	must(t, os.Rename(a.Socket, moved))
	must(t, os.Chown(moved, 0, 0))
	refused("a stranger behind the socket", client.Options{Paths: []string{moved}})
	must(t, os.Chmod(filepath.Dir(moved), 0o777))
	refused("a directory that others may write", client.Options{Paths: []string{moved}, UIDs: []uint32{stranger}})
	file := filepath.Join(shortDir(t), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	refused("a file", client.Options{Paths: []string{file}})
}
