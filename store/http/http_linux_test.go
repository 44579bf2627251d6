package http

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/servers"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/trust"
)

func open(t testing.TB, url string) *Objects {
	t.Helper()
	o, err := Open(url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// within returns a context that ends before a test would.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// documented returns the configuration of nginx that docs/FLEET.md shows, with a port of its own.
func documented(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/FLEET.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "```nginx\n")
	conf, _, ok := strings.Cut(rest, "```\n")
	if !ok || strings.Count(conf, "listen 8080;") != 1 {
		t.Fatal("docs/FLEET.md has no configuration of nginx that listens at 8080")
	}
	return strings.Replace(conf, "listen 8080;", "listen 127.0.0.1:PORT;", 1)
}

// nginx returns the URL of one with the documented configuration, for a user who may write.
func nginx(t testing.TB) (url string, s *servers.NginxServer) {
	t.Helper()
	s = servers.Nginx(t, documented(t), map[string]string{"writers": "ci:{PLAIN}p/w\n"})
	return "http://ci:p%2Fw@" + s.Addr, s
}

func TestObjectsContract(t *testing.T) {
	t.Parallel()
	base, _ := nginx(t)
	var n atomic.Int32
	remotetest.RunObjects(t, func(t *testing.T) remote.Objects {
		return open(t, fmt.Sprintf("%s/objects/%d/", base, n.Add(1)))
	})
}

func TestFlow(t *testing.T) {
	t.Parallel()
	base, _ := nginx(t)
	remotetest.RunFlow(t, open(t, base+"/objects/"), true)
}

func TestStoreContract(t *testing.T) {
	t.Parallel()
	private, err := trust.Generate()
	if err != nil {
		t.Fatal(err)
	}
	base, _ := nginx(t)
	var n atomic.Int32
	storetest.Run(t, func(t *testing.T) store.Store {
		o := open(t, fmt.Sprintf("%s/store/%d", base, n.Add(1)))
		return remote.New(o, remote.Options{Sign: private, Trust: trust.Of(private.Public().(ed25519.PublicKey))})
	})
}

// TestDocumentedNginx: everybody reads, who is named writes.
func TestDocumentedNginx(t *testing.T) {
	t.Parallel()
	url, s := nginx(t)
	writer, ctx := open(t, url), within(t)
	if err := writer.Put(ctx, "v1/t/a", []byte("good"), false); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"http://" + s.Addr, "http://ci:wrong@" + s.Addr, "http://other:x@" + s.Addr} {
		o := open(t, url)
		if b, err := o.Get(ctx, "v1/t/a", 100); string(b) != "good" {
			t.Errorf("%s: get: %q, %v", url, b, err)
		}
		for what, err := range map[string]error{
			"put": o.Put(ctx, "v1/t/a", []byte("bad"), true), "put new": o.Put(ctx, "v1/t/b", []byte("bad"), false), "delete": o.Delete(ctx, "v1/t/a"),
		} {
			if !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: %s: %v", url, what, err)
			}
		}
	}
	if b, err := os.ReadFile(filepath.Join(s.Dir, "objects", "v1", "t", "a")); string(b) != "good" {
		t.Errorf("the object's file: %q, %v", b, err)
	}
	// A directory is no object.
	if _, err := writer.Get(ctx, "v1/t", 1000); !errors.Is(err, remote.ErrNotFound) {
		t.Errorf("get a directory: %v", err)
	}
}

// TestListIsOptional: without autoindex nginx refuses to list.
func TestListIsOptional(t *testing.T) {
	t.Parallel()
	conf := documented(t)
	for name, conf := range map[string]string{
		"none": strings.NewReplacer("autoindex on;", "", "autoindex_format json;", "").Replace(conf),
		"HTML": strings.Replace(conf, "autoindex_format json;", "", 1),
	} {
		s := servers.Nginx(t, conf, map[string]string{"writers": "ci:{PLAIN}p\n"})
		o := open(t, "http://ci:p@"+s.Addr)
		if err := o.Put(within(t), "v1/t/a", []byte("x"), true); err != nil {
			t.Fatal(err)
		}
		n := 0
		for object, err := range o.List(within(t), "v1/") {
			if n++; !errors.Is(err, remote.ErrUnsupported) {
				t.Errorf("%s: %v, %v", name, object, err)
			}
		}
		if n != 1 {
			t.Errorf("%s: yields %d times", name, n)
		}
	}
}

// serve returns the URL of a server.
func serve(t testing.TB, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	other := errors.New("any other")
	for status, want := range map[int]struct{ get, put, del error }{
		200: {nil, nil, nil},
		201: {other, nil, other},
		204: {other, nil, nil},
		206: {other, other, other},
		301: {other, other, other},
		302: {other, other, other},
		307: {other, other, other},
		400: {other, other, other},
		401: {fs.ErrPermission, fs.ErrPermission, fs.ErrPermission},
		403: {fs.ErrPermission, fs.ErrPermission, fs.ErrPermission},
		404: {remote.ErrNotFound, other, nil},
		407: {fs.ErrPermission, fs.ErrPermission, fs.ErrPermission},
		409: {other, other, other},
		410: {remote.ErrNotFound, other, nil},
		412: {other, other, other},
		413: {other, remote.ErrTooLarge, other},
		429: {store.ErrBusy, store.ErrBusy, store.ErrBusy},
		500: {other, other, other},
		503: {other, other, other},
		507: {other, remote.ErrFull, other},
	} {
		o := open(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Location", "http://192.0.2.1/elsewhere")
			w.WriteHeader(status)
			if status == 200 && r.Method == "GET" {
				_, _ = io.WriteString(w, "content")
			}
		}))
		ctx := within(t)
		_, get := o.Get(ctx, "v1/t/a", 100)
		for what, pair := range map[string][2]error{
			"get": {get, want.get}, "put": {o.Put(ctx, "v1/t/a", []byte("x"), true), want.put}, "delete": {o.Delete(ctx, "v1/t/a"), want.del},
		} {
			got, want := pair[0], pair[1]
			ours := false
			for _, e := range []error{remote.ErrNotFound, remote.ErrExists, remote.ErrTooLarge, remote.ErrFull, fs.ErrPermission} {
				ours = ours || errors.Is(got, e)
			}
			switch {
			case want == other && (got == nil || ours):
				t.Errorf("%d: %s: %v, want another error", status, what, got)
			case want != other && !errors.Is(got, want):
				t.Errorf("%d: %s: %v, want %v", status, what, got, want)
			case want == other && !strings.Contains(got.Error(), fmt.Sprint(status)):
				t.Errorf("%d: %s: %v", status, what, got)
			}
		}
	}
}

// TestOnce: with servers that heed If-None-Match, of which HEAD does not know, and with others.
func TestOnce(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]int{"HEAD": 200, "no HEAD": 405, "came meanwhile": 404} {
		var puts atomic.Int32
		o := open(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == "HEAD" {
				w.WriteHeader(head)
				return
			}
			if puts.Add(1); r.Header.Get("If-None-Match") == "*" {
				w.WriteHeader(412)
			}
		}))
		if err := o.Put(within(t), "v1/t/a", []byte("x"), false); !errors.Is(err, remote.ErrExists) {
			t.Errorf("%s: put: %v", name, err)
		}
		if n := puts.Load(); name == "HEAD" && n != 0 {
			t.Errorf("%s: %d uploads", name, n)
		}
		if err := o.Put(within(t), "v1/t/a", []byte("x"), true); err != nil {
			t.Errorf("%s: replace: %v", name, err)
		}
	}
}

// TestLies: what is cut short, encoded, endless or no HTTP is no object.
func TestLies(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for name, test := range map[string]struct {
		answer string
		want   error // nil: any
	}{
		"truncated":      {ok + "Content-Length: 100\r\n\r\nshort", nil},
		"truncated JSON": {ok + "Content-Length: 100\r\n\r\n[]", nil},
		"cut chunks":     {ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n", nil},
		"gzip":           {ok + "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nshort", nil},
		"announces 1 TB": {ok + "Content-Length: 1099511627776\r\n\r\nx", remote.ErrTooLarge},
		"endless chunks": {ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("400\r\n"+strings.Repeat("x", 1024)+"\r\n", 100), remote.ErrTooLarge},
		"headers":        {ok + strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 100) + "\r\n", nil},
		"no HTTP":        {"+PONG\r\n", nil},
		"nothing":        {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t, "http://"+servers.Serve(t, func(c net.Conn) {
				b := make([]byte, 1<<16)
				if _, err := c.Read(b); err == nil {
					_, _ = io.WriteString(c, test.answer)
				}
			}))
			b, err := o.Get(within(t), "v1/t/a", 50_000)
			if err == nil || test.want != nil && !errors.Is(err, test.want) || errors.Is(err, remote.ErrNotFound) || b != nil {
				t.Errorf("get: %d bytes, %v", len(b), err)
			}
			listed := false
			for object, err := range o.List(within(t), "v1/") {
				if listed = true; err == nil {
					t.Errorf("list: %v", object)
				}
			}
			if !listed {
				t.Error("list: no error")
			}
		})
	}
}

// TestMemoryOfLies: what a server announces is not allocated.
func TestMemoryOfLies(t *testing.T) {
	t.Parallel()
	b, err := read(t.Context(), &http.Response{ContentLength: 1 << 50, Body: io.NopCloser(strings.NewReader("x"))}, 1<<51)
	if err != nil || cap(b) > 4<<20 {
		t.Errorf("for one byte, announced as 2^50, %d bytes are allocated, %v", cap(b), err)
	}
}

func TestIndexes(t *testing.T) {
	t.Parallel()
	for index, want := range map[string]string{
		`[]`:   "",
		`null`: "",
		`[{"name":"a","type":"file","mtime":"Thu, 26 Nov 2026 10:00:00 GMT","size":5}]`: "v1/a 5 2026-11-26 10:00:00 +0000 UTC;",
		`[{"name":"a","type":"file","mtime":"?","size":-5}]`:                            "v1/a 0 0001-01-01 00:00:00 +0000 UTC;",
		`[{"name":"../x","type":"file"},{"name":"..","type":"directory"},{"name":".","type":"directory"},{"name":"","type":"directory"},` +
			`{"name":"A","type":"file"},{"name":"a b","type":"file"},{"name":"a/b","type":"file"},{"name":"l","type":"other"},` +
			`{"name":"` + strings.Repeat("x", 600) + `","type":"file"}]`: "",
		`{}`:      "error",
		`[]]`:     "error",
		`[] []`:   "error",
		`[{}`:     "error",
		`"x"`:     "error",
		`[{"na`:   "error",
		`<html>`:  "error",
		`[1,2,3]`: "error",
		``:        "error",
	} {
		o := open(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = io.WriteString(w, index)
		}))
		got := ""
		for object, err := range o.List(within(t), "v1/") {
			if err != nil {
				got = "error"
				break
			}
			got += fmt.Sprintf("%s %d %v;", object.Name, object.Size, object.Modified)
		}
		if got != want {
			t.Errorf("%.60s: %s, want %s", index, got, want)
		}
	}
}

// TestIndexOfNothing: what is not ours takes no memory. As entries it would be 8 MB.
func TestIndexOfNothing(t *testing.T) {
	t.Parallel()
	entries, err := parseIndex([]byte("["+strings.Repeat(`{},`, 100_000)+`{"name":"a","type":"file"}]`), "v1/")
	if err != nil || len(entries) != 1 || cap(entries) > 16 {
		t.Errorf("%d entries, room for %d, %v", len(entries), cap(entries), err)
	}
}

// FuzzIndex: an index is read as JSON is that is read as a whole.
func FuzzIndex(f *testing.F) {
	for _, index := range []string{`[]`, `null`, `[null,{}]`, `[{"name":"a","type":"file","size":5},{"name":"..","type":"directory"}]`, `[{},]`, `[[]]`, `[] x`, `{`} {
		f.Add([]byte(index))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var all, want []indexEntry
		wantErr := json.Unmarshal(b, &all)
		for _, e := range all {
			if isPart(e.Name) && len("v1/"+e.Name) <= maxName {
				want = append(want, e)
			}
		}
		got, err := parseIndex(b, "v1/")
		if (err == nil) != (wantErr == nil) || err == nil && !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v, %v", b, got, err, want, wantErr)
		}
	})
}

// TestEndlessDirectories: names end, so directories do.
func TestEndlessDirectories(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	o := open(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[{"name":"`+strings.Repeat("d", 50)+`","type":"directory"}]`)
	}))
	for object, err := range o.List(within(t), "") {
		t.Errorf("%v, %v", object, err)
	}
	if n := n.Load(); n < 5 || n > 12 {
		t.Errorf("%d directories are asked for", n)
	}
}

// TestRedirects: credentials, and PUTs, go nowhere else.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var strangers atomic.Int32
	stranger := serve(t, func(w http.ResponseWriter, r *http.Request) {
		strangers.Add(1)
		_, _ = io.WriteString(w, "of a stranger")
	})
	for _, status := range []int{301, 302, 303, 307, 308} {
		o := open(t, strings.Replace(serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasPrefix(r.URL.Path, "/moved/"):
				if user, password, _ := r.BasicAuth(); user != "u" || password != "p" {
					w.WriteHeader(401)
				}
				_, _ = io.WriteString(w, "moved")
			case strings.Contains(r.URL.Path, "/local/"):
				http.Redirect(w, r, "/moved"+r.URL.Path, status)
			case strings.Contains(r.URL.Path, "/loop/"):
				http.Redirect(w, r, r.URL.Path, status)
			default:
				http.Redirect(w, r, stranger+r.URL.Path, status)
			}
		}), "http://", "http://u:p@", 1))
		ctx := within(t)
		if b, err := o.Get(ctx, "v1/local/a", 100); string(b) != "moved" {
			t.Errorf("%d: get, moved on the same server: %q, %v", status, b, err)
		}
		for what, err := range map[string]error{
			"get":          second(o.Get(ctx, "v1/t/a", 100)),
			"get, loop":    second(o.Get(ctx, "v1/loop/a", 100)),
			"put":          o.Put(ctx, "v1/t/a", []byte("x"), true),
			"put, local":   o.Put(ctx, "v1/local/a", []byte("x"), true),
			"put new":      o.Put(ctx, "v1/t/a", []byte("x"), false),
			"delete":       o.Delete(ctx, "v1/t/a"),
			"delete local": o.Delete(ctx, "v1/local/a"),
		} {
			if err == nil || !strings.Contains(err.Error(), fmt.Sprint(status)) {
				t.Errorf("%d: %s: %v", status, what, err)
			}
		}
	}
	if n := strangers.Load(); n != 0 {
		t.Errorf("%d requests reach the stranger", n)
	}
}

func second(_ []byte, err error) error { return err }

// TestCredentials: those of the URL, and a token that is replaced.
func TestCredentials(t *testing.T) {
	t.Parallel()
	var seen atomic.Value
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("Authorization") + "|" + r.Header.Get("Accept-Encoding") + "|" + r.URL.RequestURI())
	})
	sees := func(o *Objects, want string) {
		t.Helper()
		if _, err := o.Get(within(t), "v1/t/a", 100); err != nil {
			t.Fatal(err)
		}
		if got := seen.Load(); got != want {
			t.Errorf("the server sees %q, want %q", got, want)
		}
	}
	sees(open(t, url), "|identity|/v1/t/a")
	sees(open(t, strings.Replace(url, "//", "//u:p%2Fw@", 1)+"/c/"), "Basic dTpwL3c=|identity|/c/v1/t/a")
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	o := open(t, url+"?token-file="+file)
	sees(o, "Bearer one|identity|/v1/t/a")
	write("two")
	sees(o, "Bearer two|identity|/v1/t/a")
	for _, bad := range []string{"", " \n", "a b", "a\nb", "a\x00", strings.Repeat("x", 20_000)} {
		write(bad)
		seen.Store("nothing")
		if err := second(o.Get(within(t), "v1/t/a", 100)); err == nil || !strings.Contains(err.Error(), file) || seen.Load() != "nothing" {
			t.Errorf("token %.20q: %v; the server sees %v", bad, err, seen.Load())
		}
		if _, err := Open(url+"?token-file="+file, Options{}); err == nil {
			t.Errorf("token %.20q: opens", bad)
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	c, other := servers.NewCertificates(t), servers.NewCertificates(t)
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(c.CA)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "x") }))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	for url, works := range map[string]bool{
		s.URL + "?ca-file=" + c.CA + "&cert-file=" + c.Cert + "&key-file=" + c.Key: true,
		s.URL + "?ca-file=" + c.CA: false,
		s.URL + "?ca-file=" + other.CA + "&cert-file=" + c.Cert + "&key-file=" + c.Key:     false,
		s.URL + "?ca-file=" + c.CA + "&cert-file=" + other.Cert + "&key-file=" + other.Key: false,
		strings.Replace(s.URL, "https", "http", 1):                                         false,
	} {
		b, err := open(t, url).Get(within(t), "v1/t/a", 10)
		if (string(b) == "x") != works || (err == nil) != works || errors.Is(err, remote.ErrNotFound) {
			t.Errorf("%s: %q, %v", url, b, err)
		}
	}
}

// TestProxy: the proxy of the environment, which net/http looks at once, so that a process of its own
// asks through it.
func TestProxy(t *testing.T) {
	const inside = "KERNSTASH_TEST_PROXY"
	switch os.Getenv(inside) {
	case "refused":
		_, err := open(t, "https://objects.test/c").Get(within(t), "v1/t/a", 10)
		t.Fatalf("error: %v", err)
	case "1":
		if b, err := open(t, "http://objects.test/c").Get(within(t), "v1/t/a", 10); string(b) != "x" {
			t.Errorf("%q, %v", b, err)
		}
		return
	}
	t.Parallel()
	var asked atomic.Value
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.String())
		_, _ = io.WriteString(w, "x")
	})
	cmd := exec.Command(os.Args[0], "-test.run=^TestProxy$", "-test.count=1")
	cmd.Env = append(os.Environ(), inside+"=1", "NO_PROXY=", "no_proxy=", "http_proxy=", "HTTP_PROXY="+strings.Replace(proxy, "//", "//user:topsecret@", 1))
	if out, err := cmd.CombinedOutput(); err != nil || asked.Load() != "http://objects.test/c/v1/t/a" {
		t.Errorf("%v\n%s; the proxy is asked for %v", err, out, asked.Load())
	}
	// One that refuses, and writes what it was sent.
	refusing := servers.Serve(t, func(c net.Conn) {
		b := make([]byte, 1<<16)
		n, _ := c.Read(b)
		_, sent, _ := strings.Cut(string(b[:n]), "Proxy-Authorization: Basic ")
		sent, _, _ = strings.Cut(sent, "\r\n")
		_, _ = io.WriteString(c, "HTTP/1.1 407 "+sent+"\r\n\r\n")
	})
	for _, proxy := range []string{"user:topsecret@" + refusing, "http://user:topsecret@" + refusing} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProxy$", "-test.count=1")
		cmd.Env = append(os.Environ(), inside+"=refused", "NO_PROXY=", "no_proxy=", "https_proxy=", "HTTPS_PROXY="+proxy)
		out, _ := cmd.CombinedOutput()
		if text := string(out); !strings.Contains(text, "the proxy answers 407 Proxy Authentication Required") || strings.Contains(text, "secret") || strings.Contains(text, "dXNlcjp0b3BzZWNyZXQ") {
			t.Errorf("%s", text)
		}
	}
}

// calls are all that reach a server.
func calls(o *Objects) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"get":     func(ctx context.Context) error { return second(o.Get(ctx, "v1/t/a", 1<<20)) },
		"put":     func(ctx context.Context) error { return o.Put(ctx, "v1/t/a", bytes.Repeat([]byte("x"), 8<<20), true) },
		"put new": func(ctx context.Context) error { return o.Put(ctx, "v1/t/a", []byte("x"), false) },
		"delete":  func(ctx context.Context) error { return o.Delete(ctx, "v1/t/a") },
		"list": func(ctx context.Context) error {
			for _, err := range o.List(ctx, "v1/") {
				return err
			}
			return nil
		},
	}
}

// TestDeadlines: rule 6.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	stall := func(c net.Conn) { // it accepts everything, and answers slowly
		if _, err := c.Read(make([]byte, 1)); err != nil { // what comes before the request is no answer to it
			return
		}
		go func() { _, _ = io.Copy(io.Discard, c) }()
		if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"); err != nil {
			return
		}
		for {
			if _, err := c.Write([]byte("x")); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	for name, addr := range addresses(t, stall) {
		for _, scheme := range []string{"http", "https"} {
			for what := range calls(nil) {
				if name == "drips" && (scheme == "https" || what != "get" && what != "list") {
					continue // it speaks no TLS, and headers are answer enough
				}
				t.Run(name+"/"+scheme+"/"+what, func(t *testing.T) {
					t.Parallel()
					o := open(t, scheme+"://"+addr)
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					defer cancel()
					start := time.Now()
					if err := calls(o)[what](ctx); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("deadline: %v", err)
					}
					ctx, cancel = context.WithCancel(t.Context())
					time.AfterFunc(50*time.Millisecond, cancel)
					if err := calls(o)[what](ctx); !errors.Is(err, context.Canceled) {
						t.Errorf("cancelled: %v", err)
					}
					if d := time.Since(start); d > 4*time.Second {
						t.Errorf("ended after %v", d)
					}
				})
			}
		}
	}
	o := open(t, "http://"+servers.Refusing(t))
	for what, call := range calls(o) {
		if err := call(within(t)); err == nil || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), o.String()) {
			t.Errorf("refused: %s: %v", what, err)
		}
	}
}

func addresses(t testing.TB, drip func(net.Conn)) map[string]string {
	return map[string]string{"swallows": servers.BlackHole(t), "mute": servers.Mute(t), "drips": servers.Serve(t, drip)}
}

// TestNoPasswordInErrors searches all that errors say for passwords and tokens.
func TestNoPasswordInErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("toptoken"), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets := []string{`tops/ecret%"`, "tops%2Fecret", "ecret", "toptoken", "dXNlcjp0b3BzL2VjcmV0JSI="}
	echo := servers.Serve(t, func(c net.Conn) {
		b := make([]byte, 1<<16)
		n, _ := c.Read(b)
		for _, line := range strings.Split(string(b[:n]), "\r\n") {
			if rest, ok := strings.CutPrefix(line, "Authorization: "); ok {
				_, _ = io.WriteString(c, rest+" tops/ecret%\"\r\n\r\n")
			}
		}
	})
	redirect := strings.TrimPrefix(serve(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		w.Header().Set("Location", "http://x/"+user+password+r.Header.Get("Authorization"))
		w.WriteHeader(302)
	}), "http://")
	for name, addr := range map[string]string{"echo": echo, "redirect": redirect, "refused": servers.Refusing(t)} {
		for _, url := range []string{"http://user:tops%2Fecret%25%22@" + addr, "http://" + addr + "?token-file=" + file} {
			o := open(t, url)
			for what, call := range calls(o) {
				err := call(within(t))
				if err == nil {
					t.Errorf("%s: %s succeeds", name, what)
					continue
				}
				for e := err; e != nil; e = errors.Unwrap(e) {
					for _, s := range secrets {
						if text := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(text, s) {
							t.Errorf("%s: %s: %s", name, what, text)
						}
					}
				}
			}
			if s := fmt.Sprint(o); strings.Contains(s, "ecret") {
				t.Errorf("%s: %s", name, s)
			}
		}
	}
}

func TestBadURLs(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                          `scheme is ""`,
		"redis://h":                 `scheme is "redis"`,
		"http://":                   "no host",
		"http:///x":                 "no host",
		"http:x":                    "no host",
		"http://h?nonsense=1":       `unknown parameter "nonsense"`,
		"http://h?max-size=x":       "max-size=x",
		"http://h?ca-file=/x":       "need https",
		"https://h?ca-file=/not/x":  "/not/x",
		"https://h?cert-file=/x":    "go together",
		"http://h?token-file=/no/x": "/no/x",
		"http://u:p@h?token-file=x": "both",
	} {
		if o, err := Open(raw, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want an error with %q", raw, o, err, want)
		}
	}
	for _, password := range []string{"tops/ecret", "tops?ecret", "tops#ecret", "tops%ecret", "12/tops", "12?tops", "12#tops", "tops@ecret", "[tops", "tops ecret", "12?max-size=tops"} {
		o, err := Open("http://user:"+password+"@h/", Options{})
		text := fmt.Sprint(o)
		if err != nil {
			text = err.Error()
		}
		if strings.Contains(text, "tops") || strings.Contains(text, "ecret") {
			t.Errorf("%s: %s", password, text)
		}
	}
}

func TestMaxSize(t *testing.T) {
	t.Parallel()
	var puts atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "PUT" {
			puts.Add(1)
		}
		_, _ = io.WriteString(w, "12345")
	})
	for _, test := range []struct {
		url string
		o   Options
	}{{url, Options{MaxSize: 4}}, {url + "?max-size=4", Options{MaxSize: 10}}} {
		o, err := Open(test.url, test.o)
		if err != nil {
			t.Fatal(err)
		}
		get, put := second(o.Get(within(t), "a", 100)), o.Put(within(t), "a", []byte("12345"), true)
		if !errors.Is(get, remote.ErrTooLarge) || !errors.Is(put, remote.ErrTooLarge) || puts.Load() != 0 {
			t.Errorf("%v: get %v, put %v", test, get, put)
		}
		if err := o.Put(within(t), "a", []byte("1234"), true); err != nil || puts.Swap(0) != 1 {
			t.Errorf("%v: put 4 bytes: %v", test, err)
		}
	}
	for _, name := range []string{"..", "v1/../x", "./x", "x/."} {
		if err := cmp.Or(second(open(t, url).Get(within(t), name, 100))); err == nil || errors.Is(err, remote.ErrNotFound) {
			t.Errorf("get %s: %v", name, err)
		}
	}
}
