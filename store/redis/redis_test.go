package redis

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/servers"
	"github.com/kernstash/kernstash/store/remote"
)

// open opens the objects of a URL.
func open(t testing.TB, url string, o Options) *Objects {
	t.Helper()
	objects, err := Open(url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = objects.Close() })
	return objects
}

// within returns a context that ends before a test would.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func put(t testing.TB, o *Objects, name, content string) {
	t.Helper()
	if err := o.Put(within(t), name, []byte(content), true); err != nil {
		t.Fatal(err)
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, servers.Redis(t), Options{}), within(t)
	const name = "v1/default/aa/aabb"
	if b, err := o.Get(ctx, name, 100); !errors.Is(err, remote.ErrNotFound) || b != nil {
		t.Errorf("get what is not there: %q, %v", b, err)
	}
	if err := o.Delete(ctx, name); err != nil {
		t.Errorf("delete what is not there: %v", err)
	}
	content := []byte("one\x00\r\n$5\r\n")
	if err := o.Put(ctx, name, content, false); err != nil {
		t.Fatal(err)
	}
	if err := o.Put(ctx, name, []byte("two"), false); !errors.Is(err, remote.ErrExists) {
		t.Errorf("put again: %v", err)
	}
	for limit, want := range map[int64]error{0: remote.ErrTooLarge, 9: remote.ErrTooLarge, 10: nil, 1 << 40: nil} {
		b, err := o.Get(ctx, name, limit)
		if !errors.Is(err, want) || want == nil && !bytes.Equal(b, content) || want != nil && b != nil {
			t.Errorf("get %d bytes: %q, %v; want error %v", limit, b, err, want)
		}
	}
	if err := o.Put(ctx, name, []byte("three"), true); err != nil {
		t.Fatal(err)
	}
	if b, err := o.Get(ctx, name, 100); string(b) != "three" {
		t.Errorf("replaced: %q, %v", b, err)
	}
	if err := o.Delete(ctx, name); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Get(ctx, name, 100); !errors.Is(err, remote.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
	// What needs an escape.
	for _, content := range []string{"", "\xff", "\xff\xff", "\xffx", "x\xff"} {
		put(t, o, name, content)
		b, err := o.Get(ctx, name, int64(len(content)))
		if string(b) != content || err != nil || b == nil {
			t.Errorf("get %q: %q, %v", content, b, err)
		}
		if _, err := o.Get(ctx, name, int64(len(content)-1)); content != "" && !errors.Is(err, remote.ErrTooLarge) {
			t.Errorf("get %q, limit %d: %v", content, len(content)-1, err)
		}
		for object, err := range o.List(ctx, "v1/") {
			if object.Size != int64(len(content)) || err != nil {
				t.Errorf("%q is listed as %v, %v", content, object, err)
			}
		}
	}
}

// TestKeys: the names of the server are what access lists and other programs rely on.
func TestKeys(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t)
	o := open(t, "redis://"+s.Addr, Options{})
	put(t, o, "v1/team-a/0f/0f1e", "x")
	if got := s.Do(t, "EXISTS kc:v1:team-a:0f:0f1e"); got != ":1" {
		t.Errorf("EXISTS kc:v1:team-a:0f:0f1e: %s", got)
	}
	if _, err := o.Acquire(within(t), "lease/team-a/0f1e", time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := s.Do(t, "EXISTS kc:lease:team-a:0f1e"); got != ":1" {
		t.Errorf("EXISTS kc:lease:team-a:0f1e: %s", got)
	}
}

func TestGetMany(t *testing.T) {
	t.Parallel()
	o := open(t, servers.Redis(t), Options{})
	var names []string
	want := make(map[string]string)
	for i := range 3*many + 7 {
		name := fmt.Sprintf("v1/t/%03d", i)
		names = append(names, name)
		switch i % 3 {
		case 0:
			put(t, o, name, fmt.Sprint("content ", i))
			want[name] = fmt.Sprint("content ", i, " <nil>")
		case 1:
			want[name] = " " + remote.ErrNotFound.Error()
		case 2:
			put(t, o, name, strings.Repeat("x", 101))
			want[name] = " " + remote.ErrTooLarge.Error()
		}
	}
	got := make(map[string]string)
	if err := o.GetMany(within(t), names, 100, func(name string, b []byte, err error) {
		got[name] += fmt.Sprintf("%s %v", b, err)
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if err := o.GetMany(within(t), nil, 100, nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	url := servers.Redis(t)
	o := open(t, url, Options{})
	want := make(map[string]int64)
	for i := range 2500 { // more than one reply of SCAN
		name := fmt.Sprintf("v1/t/%04d", i)
		put(t, o, name, strings.Repeat("x", 1+i%50))
		want[name] = int64(1 + i%50)
	}
	put(t, o, "v1/other/x", "x")
	// What somebody else keeps under our prefix is no object.
	if err := o.client.LPush(within(t), "kc:v1:t:list", "x").Err(); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int64)
	for object, err := range o.List(within(t), "v1/t/") {
		if err != nil {
			t.Fatal(err)
		}
		got[object.Name] += object.Size
	}
	if !maps.Equal(got, want) {
		t.Errorf("%d objects, want %d: %v", len(got), len(want), cmp.Diff(want, got))
	}
	n := 0
	for range o.List(within(t), "v1/t/") {
		n++
		break
	}
	if n != 1 {
		t.Errorf("a list that is left goes on: %d", n)
	}
	for object := range o.List(within(t), "v1/t*/") {
		t.Errorf("a pattern is none: %v", object)
	}
}

// TestTooLargeIsRefused: what is larger than the limit is not sent to Redis, and is not read
// from there.
func TestTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t)
	url := "redis://" + s.Addr
	small, large := open(t, url, Options{MaxSize: 1000}), open(t, url, Options{MaxSize: 64 << 20})
	if err := small.Put(within(t), "v1/t/a", make([]byte, 1001), true); !errors.Is(err, remote.ErrTooLarge) {
		t.Errorf("put 1001 bytes: %v", err)
	}
	if _, err := large.Get(within(t), "v1/t/a", 1<<20); !errors.Is(err, remote.ErrNotFound) {
		t.Errorf("what is too large was put: %v", err)
	}
	if err := small.Put(within(t), "v1/t/a", make([]byte, 1000), true); err != nil {
		t.Errorf("put 1000 bytes: %v", err)
	}
	if _, err := small.Get(within(t), "v1/t/a", 1<<20); err != nil {
		t.Errorf("get 1000 bytes: %v", err)
	}
	if err := large.Put(within(t), "v1/t/b", make([]byte, 32<<20), true); err != nil {
		t.Fatal(err)
	}
	if _, err := small.Get(within(t), "v1/t/b", 1<<30); !errors.Is(err, remote.ErrTooLarge) {
		t.Errorf("get 32 MiB: %v", err)
	}
	if b, err := large.Get(within(t), "v1/t/b", 1<<30); len(b) != 32<<20 {
		t.Errorf("get 32 MiB: %d bytes, %v", len(b), err)
	}
	// 32 MiB are not sent to find out that they are more than 1000 bytes.
	sent := func() (n int64) {
		for _, line := range s.Lines(t, "INFO stats") {
			fmt.Sscanf(line, "total_net_output_bytes:%d", &n)
		}
		return n
	}
	before := sent()
	if _, err := large.Get(within(t), "v1/t/b", 1000); !errors.Is(err, remote.ErrTooLarge) {
		t.Error(err)
	}
	if err := large.GetMany(within(t), []string{"v1/t/b"}, 1000, func(_ string, _ []byte, err error) {
		if !errors.Is(err, remote.ErrTooLarge) {
			t.Error(err)
		}
	}); err != nil {
		t.Error(err)
	}
	if n := sent() - before; n > 100_000 || before < 32<<20 {
		t.Errorf("%d bytes are sent, after %d", n, before)
	}
}

func TestTTL(t *testing.T) {
	t.Parallel()
	url := servers.Redis(t)
	for _, test := range []struct {
		url      string
		o        Options
		min, max time.Duration
	}{
		{url, Options{}, -1, -1},
		{url, Options{TTL: time.Hour}, 50 * time.Minute, time.Hour},
		{url + "?ttl=2h", Options{TTL: time.Hour}, 110 * time.Minute, 2 * time.Hour},
	} {
		o := open(t, test.url, test.o)
		for _, replace := range []bool{true, false} {
			name := rand.Text()
			if err := o.Put(within(t), name, []byte("x"), replace); err != nil {
				t.Fatal(err)
			}
			if got := o.client.PTTL(within(t), toKey(name)).Val(); got < test.min || got > test.max {
				t.Errorf("%s, %v: replace %v: it lives for %v", test.url, test.o, replace, got)
			}
		}
	}
	// It goes indeed.
	o := open(t, url+"?ttl=1ms", Options{})
	put(t, o, "v1/t/short", "x")
	for {
		_, err := o.Get(within(t), "v1/t/short", 10)
		if errors.Is(err, remote.ErrNotFound) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestFull: a server that may not evict, and one that may.
func TestFull(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]error{"noeviction": remote.ErrFull, "allkeys-lru": nil} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			s := servers.StartRedis(t, "--maxmemory", "8mb", "--maxmemory-policy", policy)
			o := open(t, "redis://"+s.Addr, Options{})
			put(t, o, "v1/t/first", "first")
			l, err := o.Acquire(within(t), "lease/t/a", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{512 << 10, 8 << 10} {
				err = nil
				for i := 0; i < 16<<20/size && err == nil; i++ {
					err = o.Put(within(t), fmt.Sprint("v1/t/", size, "/", i), make([]byte, size), false)
				}
				if !errors.Is(err, want) {
					t.Errorf("put 16 MiB: %v, want %v", err, want)
				}
			}
			if want == nil {
				return
			}
			// Reads and the end of leases go on.
			if b, err := o.Get(within(t), "v1/t/first", 10); string(b) != "first" {
				t.Errorf("get: %q, %v", b, err)
			}
			for i := 0; err == nil || errors.Is(err, remote.ErrFull) && i == 0; i++ {
				_, err = o.Acquire(within(t), fmt.Sprint("lease/t/b", i), time.Minute)
			}
			if !errors.Is(err, remote.ErrFull) {
				t.Errorf("acquire: %v", err)
			}
			if err := l.Renew(within(t), time.Minute); err != nil {
				t.Errorf("renew: %v", err)
			}
			if err := l.Release(within(t)); err != nil {
				t.Errorf("release: %v", err)
			}
		})
	}
}

func TestLease(t *testing.T) {
	t.Parallel()
	url := servers.Redis(t)
	a, b, ctx := open(t, url, Options{}), open(t, url, Options{}), within(t)
	const name = "lease/t/aabb"
	first, err := a.Acquire(ctx, name, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := b.Acquire(ctx, name, time.Hour); !errors.Is(err, remote.ErrHeld) || l != nil {
		t.Errorf("acquire what is held: %v, %v", l, err)
	}
	if err := first.Renew(ctx, 2*time.Hour); err != nil {
		t.Errorf("renew: %v", err)
	}
	if got := a.client.PTTL(ctx, toKey(name)).Val(); got < 119*time.Minute || got > 2*time.Hour {
		t.Errorf("renewed for 2 h, it lasts %v", got)
	}
	if err := first.Release(ctx); err != nil {
		t.Errorf("release: %v", err)
	}
	second, err := b.Acquire(ctx, name, time.Hour)
	if err != nil {
		t.Fatalf("acquire what was released: %v", err)
	}
	// The first holder has no power over the second's lease.
	if err := first.Renew(ctx, 9*time.Hour); !errors.Is(err, remote.ErrLost) {
		t.Errorf("renew another's lease: %v", err)
	}
	if err := first.Release(ctx); err != nil {
		t.Errorf("release another's lease: %v", err)
	}
	if got := a.client.PTTL(ctx, toKey(name)).Val(); got < 59*time.Minute || got > time.Hour {
		t.Errorf("the second lease, of an hour, lasts %v", got)
	}
	if err := second.Renew(ctx, time.Millisecond); err != nil {
		t.Errorf("renew: %v", err)
	}
	for {
		l, err := a.Acquire(ctx, name, time.Hour)
		if err == nil {
			if err := l.Release(ctx); err != nil {
				t.Error(err)
			}
			break
		}
		if !errors.Is(err, remote.ErrHeld) {
			t.Fatalf("acquire what ran out: %v", err)
		}
	}
	if err := second.Renew(ctx, time.Hour); !errors.Is(err, remote.ErrLost) {
		t.Errorf("renew what ran out: %v", err)
	}
}

// TestScriptsAreSentOnce: a server that forgets scripts is sent them again.
func TestScriptsAreSentOnce(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t)
	o, ctx := open(t, "redis://"+s.Addr, Options{}), within(t)
	l, err := o.Acquire(ctx, "lease/t/a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := l.Renew(ctx, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	stats := o.client.Info(ctx, "commandstats").Val()
	if !strings.Contains(stats, "cmdstat_eval:calls=1,") {
		t.Errorf("three renewals send the script more than once:\n%s", stats)
	}
	s.Do(t, "SCRIPT FLUSH")
	if err := l.Renew(ctx, time.Hour); err != nil {
		t.Errorf("renew after SCRIPT FLUSH: %v", err)
	}
}

// documented returns the commands of docs/FLEET.md that begin so, by their users' names.
func documented(t testing.TB, command string) map[string]string {
	t.Helper()
	b, err := os.ReadFile("../../docs/FLEET.md")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, command); ok {
			found[strings.Fields(rest)[0]] = strings.TrimSpace(line)
		}
	}
	return found
}

// addUsers gives a server the users that docs/FLEET.md shows, with more rights.
func addUsers(t testing.TB, s *servers.RedisServer, more string) {
	t.Helper()
	users := documented(t, "ACL SETUSER ")
	if len(users) != 2 || users["node"] == "" || users["builder"] == "" {
		t.Fatalf("docs/FLEET.md has the users %v", users)
	}
	for _, command := range users {
		if got := s.Do(t, command+more); got != "+OK" {
			t.Fatalf("%s: %s", command, got)
		}
	}
}

// TestReadOnlyUser: rule 8.
func TestReadOnlyUser(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t)
	addUsers(t, s, "")
	s.Do(t, "ACL SETUSER all on >all-secret resetkeys %R~kc:v1:* ~kc:lease:* +@all")
	owner := open(t, "redis://builder:secret2@"+s.Addr, Options{})
	put(t, owner, "v1/t/a", "good")
	put(t, owner, "v1/t/b", "good")
	for _, user := range []string{"node:secret", "all:all-secret"} {
		o, ctx := open(t, "redis://"+user+"@"+s.Addr, Options{}), within(t)
		if b, err := o.Get(ctx, "v1/t/a", 100); string(b) != "good" {
			t.Errorf("%s: get: %q, %v", user, b, err)
		}
		n := 0
		if err := o.GetMany(ctx, []string{"v1/t/a", "v1/t/b"}, 100, func(_ string, b []byte, _ error) {
			if string(b) == "good" {
				n++
			}
		}); err != nil || n != 2 {
			t.Errorf("%s: get many: %d, %v", user, n, err)
		}
		var listed []string
		for object, err := range o.List(ctx, "v1/") {
			if err != nil {
				t.Fatalf("%s: list: %v", user, err)
			}
			listed = append(listed, object.Name)
		}
		slices.Sort(listed)
		if d := cmp.Diff([]string{"v1/t/a", "v1/t/b"}, listed); d != "" {
			t.Errorf("%s: list (-want +got):\n%s", user, d)
		}
		l, err := o.Acquire(ctx, "lease/t/a", time.Hour)
		if err != nil {
			t.Fatalf("%s: acquire: %v", user, err)
		}
		if err := l.Renew(ctx, time.Hour); err != nil {
			t.Errorf("%s: renew: %v", user, err)
		}
		if err := l.Release(ctx); err != nil {
			t.Errorf("%s: release: %v", user, err)
		}

		for what, err := range map[string]error{
			"put":     o.Put(ctx, "v1/t/a", []byte("bad"), true),
			"put new": o.Put(ctx, "v1/t/c", []byte("bad"), false),
			"delete":  o.Delete(ctx, "v1/t/a"),
		} {
			if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "NOPERM") {
				t.Errorf("%s: %s: %v", user, what, err)
			}
		}
		_, err = o.Acquire(ctx, "v1/t/d", time.Hour)
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: acquire an object: %v", user, err)
		}
		// Not through a script either, whether it declares its keys or not.
		for _, script := range []string{
			`return redis.call("SET", KEYS[1], "bad")`,
			`return redis.call("SET", "kc:v1:t:a", "bad")`,
			`return redis.call("APPEND", "kc:v1:t:a", "bad")`,
			`return redis.call("RENAME", "kc:lease:x", "kc:v1:t:a")`,
			`return redis.call("COPY", "kc:lease:x", "kc:v1:t:a")`,
			`return redis.call("DEL", "kc:v1:t:a")`,
			`return redis.call("PEXPIRE", "kc:v1:t:a", 1)`,
		} {
			for _, key := range []string{"kc:v1:t:a", "kc:lease:x"} {
				_ = o.client.Set(ctx, "kc:lease:x", "bad", 0).Err()
				if err := o.client.Eval(ctx, script, []string{key}).Err(); key == "kc:lease:x" && strings.Contains(script, "KEYS") {
					continue // writes a lease, which it may
				} else if err == nil {
					t.Errorf("%s: %s with key %s succeeds", user, script, key)
				}
			}
		}
		if b, err := owner.Get(ctx, "v1/t/a", 100); string(b) != "good" {
			t.Errorf("%s: the object is %q, %v", user, b, err)
		}
		if n := s.Do(t, "EXISTS kc:v1:t:c kc:v1:t:d"); n != ":0" {
			t.Errorf("%s: %s new objects", user, n)
		}
	}
}

// TestBuilder: who writes can do all that is needed, and nothing outside our keys.
func TestBuilder(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t)
	addUsers(t, s, "")
	o, ctx := open(t, "redis://builder:secret2@"+s.Addr, Options{TTL: time.Hour}), within(t)
	works(t, o)
	if err := o.Delete(ctx, "v1/works/1"); err != nil {
		t.Error(err)
	}
	if err := o.client.Set(ctx, "others", "x", 0).Err(); err == nil {
		t.Error("it writes another's key")
	}
}

// TestDocumentedConfiguration: the lines about memory are ones that Redis takes.
func TestDocumentedConfiguration(t *testing.T) {
	t.Parallel()
	lines := documented(t, "maxmemory")
	var conf string
	for _, line := range lines {
		conf += line + "\n"
	}
	file := filepath.Join(t.TempDir(), "redis.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	s := servers.StartRedis(t, file)
	if got := strings.Join(s.Lines(t, "CONFIG GET maxmemory-policy"), " "); len(lines) != 2 || !strings.HasSuffix(got, "allkeys-lru") {
		t.Errorf("%q: the policy is %s", conf, got)
	}
}
