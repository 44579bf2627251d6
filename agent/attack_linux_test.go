package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kernstash/kernstash/agent/client"
	"github.com/kernstash/kernstash/agent/internal/protocol"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestFloodOfOthers has users of no tenant, and of another one, open as many connections as they get, each as several
// users: those of a tenant are served all the same.
func TestFloodOfOthers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can be other users")
	}
	const first = 65500
	others := Tenant{Name: "others", UIDs: []uint32{first, first + 1, first + 2, first + 3}, Write: true}
	for name, tenants := range map[string][]Tenant{"of no tenant": own(), "of another tenant": append(own(), others)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, socket := start(t, Options{Tenants: tenants, limits: limits{conns: 64, connsPerUser: 16, strangers: 4}})
			must(t, os.Chmod(filepath.Dir(socket), 0o755))
			must(t, os.Chmod(socket, 0o666))
			for i := range 4 {
				_, out, _ := process(t, "flood", first+uint32(i), asked{Socket: socket})
				for range 16 {
					_, err := out.ReadString('\n')
					must(t, err)
				}
			}
			c := patient(socket)
			for i := range 50 {
				e := storetest.New(t, "flood"+strconv.Itoa(i), 10)
				if _, err := c.Put(context.Background(), e); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Get(context.Background(), e.Key); err != nil {
					t.Fatal(err)
				}
			}
			var st Status
			_, err := c.Status(context.Background(), &st)
			must(t, err)
			s.mu.Lock()
			defer s.mu.Unlock()
			if n := len(s.open); n > 40 {
				t.Errorf("%d connections are held", n)
			}
		})
	}
}

// TestManyFetches asks for many entries, and waits for none: what is under way is bounded.
func TestManyFetches(t *testing.T) {
	t.Parallel()
	slow := &slowStore{entry: storetest.New(t, "slow", 1), ready: make(chan struct{})}
	s, socket := start(t, Options{limits: limits{fetches: 8}, Open: opener(func(near *disk.Store) Store {
		slow.Store = near
		return slow
	})})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for i := range 100 {
		_, err := s.tenants[0].get(ctx, key.Key{Sum: key.Digest{byte(i)}})
		if err == nil {
			t.Fatal("it waits")
		}
	}
	s.tenants[0].mu.Lock()
	n := len(s.tenants[0].fetches)
	s.tenants[0].mu.Unlock()
	if n > 8 {
		t.Errorf("%d fetches are under way", n)
	}
	_, err := patient(socket).Get(context.Background(), storetest.New(t, "another", 1).Key)
	if !isMiss(err) {
		t.Error(err)
	}
	close(slow.ready)
	eventually(t, "the next one is served", func() bool {
		_, err := patient(socket).Get(context.Background(), slow.entry.Key)
		return err == nil
	})
}

// TestMemoryOfAUser: what one user sends leaves room for others.
func TestMemoryOfAUser(t *testing.T) {
	t.Parallel()
	s := &Server{o: Options{limits: defaults(limits{memory: 100})}, users: make(map[uint32]*taken)}
	one, another := &session{s: s, peer: peer{uid: 1}}, &session{s: s, peer: peer{uid: 2}}
	must(t, one.reserve(50))
	if err := (&session{s: s, peer: peer{uid: 1}}).reserve(1); !errors.Is(err, errBusy) {
		t.Errorf("over half: %v", err)
	}
	must(t, another.reserve(50))
	if err := (&session{s: s, peer: peer{uid: 3}}).reserve(1); !errors.Is(err, errBusy) {
		t.Errorf("over all: %v", err)
	}
	one.release()
	must(t, one.reserve(50))
	one.release()
	another.release()
	if len(s.users) != 0 || s.memory.Load() != 0 {
		t.Errorf("%d users, %d bytes", len(s.users), s.memory.Load())
	}
}

// TestSocketDirectoryIsALink: the directory of the socket that somebody has put a link in the place of keeps its mode.
func TestSocketDirectoryIsALink(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	private := filepath.Join(dir, "private")
	must(t, os.Mkdir(private, 0o700))
	at := filepath.Join(dir, "run")
	must(t, os.Symlink(private, at))
	must(t, makeDirectory(at, 0o755))
	if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	must(t, makeDirectory(filepath.Join(dir, "a", "b"), 0o755))
	if info, err := os.Stat(filepath.Join(dir, "a", "b")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestFullNodeCache: an agent that cannot store says so without telling where its files are, and fetches on.
func TestFullNodeCache(t *testing.T) {
	t.Parallel()
	s, socket := start(t, Options{})
	c, ctx := patient(socket), context.Background()
	e := storetest.New(t, "full", 1000)
	_, err := c.Put(ctx, e)
	must(t, err)
	must(t, os.RemoveAll(filepath.Join(s.o.Dir, "default")))
	must(t, os.WriteFile(filepath.Join(s.o.Dir, "default"), nil, 0o600))
	res, err := c.Put(ctx, storetest.New(t, "another", 1000))
	if res != store.Failed || err == nil {
		t.Fatalf("%v, %v", res, err)
	}
	if !errors.Is(err, client.ErrRefused) || strings.Contains(err.Error(), s.o.Dir) {
		t.Errorf("it is told %v", err)
	}
	if _, err := c.Get(ctx, e.Key); !isMiss(err) {
		t.Error(err)
	}
}

// TestUsersOutsideTheNamespace has an agent in a user namespace, to which all users that are not in it look like one:
// that one is no tenant, whoever it is.
func TestUsersOutsideTheNamespace(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can be other users")
	}
	const outside, seen = 65500, 65534
	dir := shortDir(t)
	must(t, os.Chmod(dir, 0o755))
	a := asked{Socket: filepath.Join(dir, "agent.sock"), Dir: filepath.Join(dir, "node"), Tenants: []Tenant{
		{Name: "nobody", UIDs: []uint32{seen}, GIDs: []uint32{seen}, Write: true}, {Name: "root", UIDs: []uint32{0}, Write: true},
	}}
	inside := func(c *exec.Cmd) {
		c.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{Size: 1}}, GidMappings: []syscall.SysProcIDMap{{Size: 1}},
		}
	}
	alone := exec.Command("/bin/true")
	inside(alone)
	if err := alone.Run(); err != nil { // in a chroot, say
		t.Skipf("NOT RUN: there are no user namespaces here: %v", err)
	}
	_, out, _ := process(t, "agent", 0, a, inside)
	if line, err := out.ReadString('\n'); line != "serving\n" {
		t.Fatalf("the agent says %q, %v", line, err)
	}
	for uid, want := range map[uint32]string{outside: "put false true\n", 0: "put true false\n"} {
		_, out, in := process(t, "user", uid, asked{Socket: a.Socket, Keys: []string{"a"}}, func(c *exec.Cmd) {
			if uid != 0 { // whose agent is believed: it runs as root
				c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
			}
		})
		in.Close()
		if line, err := out.ReadString('\n'); line != want {
			t.Errorf("user %d says %q, %v, want %q", uid, line, err, want)
		}
	}
}

// TestWarningsAreBounded has a client that is refused again and again: the log does not grow with it.
func TestWarningsAreBounded(t *testing.T) {
	t.Parallel()
	log := new(said)
	_, socket := start(t, Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	for range 50 {
		c := dial(t, socket)
		_, err := io.WriteString(c, head(protocol.Put, 100, strings.Repeat("\x00", 100)))
		must(t, err)
		_, err = io.ReadAll(c)
		must(t, err)
	}
	if n := log.count("bad entry handed over"); n == 0 || n > 40 { // two minutes may have begun
		t.Errorf("%d warnings", n)
	}
}

// TestOldGoesFromTheNodeCache: entries and manifests that nobody has used for long go, others stay.
func TestOldGoesFromTheNodeCache(t *testing.T) {
	t.Parallel()
	dir, old := filepath.Join(shortDir(t), "node"), time.Now().Add(-48*time.Hour)
	e, used := storetest.New(t, "old", 1000), storetest.New(t, "used", 1000)
	name := key.Digest{1}
	before := disk.New(disk.Options{Dir: filepath.Join(dir, "default")})
	must(t, os.Mkdir(dir, 0o700))
	for _, e := range []*store.Entry{e, used} {
		_, err := before.Put(context.Background(), e)
		must(t, err)
	}
	must(t, before.PutBlob(context.Background(), store.Manifests, name, (&manifest.Manifest{}).Append(nil, name)))
	must(t, before.Close())
	for _, path := range []string{filepath.Join(append(dirs(e.Key), "0.bin")...), filepath.Join(".meta", "manifests", name.String()[:2], name.String())} {
		must(t, os.Chtimes(filepath.Join(dir, "default", path), old, old))
	}
	s, socket := start(t, Options{Dir: dir, MaxAge: 24 * time.Hour, limits: limits{age: time.Millisecond}})
	eventually(t, "they are gone", func() bool {
		st := s.tenants[0].near.Status()
		_, err := os.Lstat(filepath.Join(dir, "default", ".meta", "manifests", name.String()[:2], name.String()))
		return st.Entries == 1 && errors.Is(err, os.ErrNotExist)
	})
	c := patient(socket)
	if _, err := c.Get(context.Background(), e.Key); !isMiss(err) {
		t.Error(err)
	}
	_, err := c.Get(context.Background(), used.Key)
	must(t, err)
}
