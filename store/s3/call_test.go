package s3_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/s3"
)

// calls are all that a server can be asked for.
var calls = map[string]func(context.Context, *s3.Objects) error{
	"get":     func(ctx context.Context, o *s3.Objects) error { _, err := o.Get(ctx, "name", 100); return err },
	"put":     func(ctx context.Context, o *s3.Objects) error { return o.Put(ctx, "name", []byte("b"), false) },
	"replace": func(ctx context.Context, o *s3.Objects) error { return o.Put(ctx, "name", []byte("b"), true) },
	"delete":  func(ctx context.Context, o *s3.Objects) error { return o.Delete(ctx, "name") },
	"acquire": func(ctx context.Context, o *s3.Objects) error {
		_, err := o.Acquire(ctx, "lease/x", time.Minute)
		return err
	},
	"list": func(ctx context.Context, o *s3.Objects) error {
		for _, err := range o.List(ctx, "") {
			if err != nil {
				return err
			}
		}
		return nil
	},
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	xml := func(code string) string {
		return "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>of a\u009btest</Message></Error>"
	}
	sentinels := []error{remote.ErrNotFound, remote.ErrExists, remote.ErrFull, remote.ErrTooLarge, remote.ErrUnsupported, remote.ErrHeld, remote.ErrLost}
	for _, test := range []struct {
		call   string
		status int
		body   string
		is     error // nil: none of the sentinels
		text   string
	}{
		{"get", 404, xml("NoSuchKey"), remote.ErrNotFound, "get name: the server answers 404 NoSuchKey"},
		{"get", 404, "", remote.ErrNotFound, "404"},
		{"get", 404, xml("NoSuchBucket"), nil, "get name: the server answers 404 NoSuchBucket"},
		{"get", 403, xml("AccessDenied"), nil, "403 AccessDenied"},
		{"get", 503, xml("SlowDown"), store.ErrBusy, "503 SlowDown: of a test"},
		{"get", 503, "", nil, "503"},
		{"get", 429, "", store.ErrBusy, "429"},
		{"get", 500, "<html>not S3</html>", nil, "500"},
		{"get", 301, xml("PermanentRedirect"), nil, "301 PermanentRedirect"},
		{"put", 412, xml("PreconditionFailed"), remote.ErrExists, "put name: "},
		{"put", 409, xml("ConditionalRequestConflict"), remote.ErrExists, "put name: "},
		{"put", 409, xml("BucketNotEmpty"), nil, "409"},
		{"put", 403, xml("AccessDenied"), nil, "403"},
		{"put", 404, xml("NoSuchBucket"), nil, "NoSuchBucket"},
		{"put", 507, "", remote.ErrFull, "507"},
		{"put", 403, xml("QuotaExceeded"), remote.ErrFull, "QuotaExceeded"},
		{"put", 507, xml("XMinioStorageFull"), remote.ErrFull, "XMinioStorageFull"},
		{"put", 400, xml("EntityTooLarge"), remote.ErrTooLarge, "EntityTooLarge"},
		{"put", 503, xml("SlowDown"), store.ErrBusy, "503 SlowDown"},
		{"acquire", 503, xml("SlowDown"), store.ErrBusy, "503 SlowDown"},
		{"delete", 403, xml("AccessDenied"), nil, "delete name: the server answers 403"},
		{"list", 404, xml("NoSuchBucket"), nil, "list s3://bucket/p"},
		{"list", 404, "", nil, "404"},
		{"list", 200, "<html>", nil, ""},
		{"acquire", 501, xml("NotImplemented"), remote.ErrUnsupported, "lease lease/x: "},
		{"acquire", 403, xml("AccessDenied"), nil, "403"},
	} {
		t.Run(fmt.Sprintf("%s_%d_%s", test.call, test.status, strings.Trim(test.text, " :")), func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				w.WriteHeader(test.status)
				io.WriteString(w, test.body)
			}))
			defer server.Close()
			o := open(t, "s3://bucket/p?endpoint="+server.URL, fakeKeys)
			err := calls[test.call](within(t), o)
			if err == nil {
				t.Fatal("no error")
			}
			for _, sentinel := range sentinels {
				if got := errors.Is(err, sentinel); got != (sentinel == test.is) {
					t.Errorf("%v: is %q: %v", err, sentinel, got)
				}
			}
			if !strings.Contains(err.Error(), test.text) || strings.ContainsRune(err.Error(), '\u009b') {
				t.Errorf("%q, want %q", err, test.text)
			}
			if test.call != "put" && requests.Load() != 1 {
				t.Errorf("%d requests", requests.Load())
			}
		})
	}
}

// Whatever a server does, and does not, a call ends with its context.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	servers := map[string]func(t *testing.T) string{
		"swallows packets": swallow,
		"never answers": func(t *testing.T) string {
			return listen(t, func(c net.Conn) { io.Copy(io.Discard, c) })
		},
		"trickles": func(t *testing.T) string {
			return listen(t, func(c net.Conn) {
				c.Read(make([]byte, 1)) // an answer before a request is another case
				go io.Copy(io.Discard, c)
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\nLast-Modified: Mon, 03 Feb 2031 04:05:06 GMT\r\nETag: \"1\"\r\n\r\n")
				for {
					if _, err := io.WriteString(c, " "); err != nil {
						return
					}
					select {
					case <-t.Context().Done():
						return
					case <-time.After(50 * time.Millisecond):
					}
				}
			})
		},
		"trickles an error": func(t *testing.T) string {
			return listen(t, func(c net.Conn) {
				c.Read(make([]byte, 1))
				io.WriteString(c, "HTTP/1.1 503 Slow\r\nContent-Length: 50\r\n\r\n<")
				io.Copy(io.Discard, c)
			})
		},
	}
	for what, server := range servers {
		for name, call := range calls {
			if what == "trickles" && (name == "put" || name == "replace" || name == "delete" || name == "acquire") {
				continue // a success that needs no body
			}
			t.Run(what+"/"+name, func(t *testing.T) {
				t.Parallel()
				o := open(t, "s3://bucket?endpoint=http://"+server(t), fakeKeys)
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				start := time.Now()
				err := call(ctx, o)
				took := time.Since(start)
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v", err)
				}
				// The client by itself would take minutes; this machine may be busy.
				if took > 5*time.Second {
					t.Errorf("after %v", took)
				}
			})
		}
	}
}

// Who gives no deadline does not wait for ever.
func TestEndsWithoutDeadline(t *testing.T) {
	t.Parallel()
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t, "s3://bucket?endpoint=http://"+listen(t, func(c net.Conn) { io.Copy(io.Discard, c) }), fakeKeys)
			s3.SetTimeout(o, 100*time.Millisecond)
			if err := call(t.Context(), o); !errors.Is(err, context.DeadlineExceeded) || t.Context().Err() != nil {
				t.Errorf("%v", err)
			}
		})
	}
}

// A server that shows what it was sent, or leads elsewhere, gets no credentials printed, and none taken elsewhere.
func TestTokenIsNotRepeated(t *testing.T) {
	t.Parallel()
	const token = "session+token/of=somebody"
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("somebody else is asked") }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown := r.Header.Get("X-Amz-Security-Token")
		if shown != token {
			t.Errorf("the token is %q", shown)
		}
		w.Header().Set("Location", elsewhere.URL+"/steal")
		w.WriteHeader(http.StatusTemporaryRedirect)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", shown, shown)
	}))
	defer server.Close()
	for name, call := range calls {
		err := call(within(t), open(t, "s3://bucket?endpoint="+server.URL, s3.Options{AccessKey: "a", SecretKey: "b", SessionToken: token}))
		if err == nil || strings.Contains(err.Error(), token) || name != "list" && !strings.Contains(err.Error(), "307 ***: ***; it leads to "+elsewhere.URL) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Who refuses a connection, or breaks it, is told of at once, not when the context ends.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for what, address := range map[string]string{
		"refuses": closed.Addr().String(),
		"hangs up": listen(t, func(c net.Conn) {
			c.Read(make([]byte, 1))
		}),
		"speaks something else": listen(t, func(c net.Conn) {
			io.WriteString(c, "220 mail.example.com ESMTP\r\n")
			c.Read(make([]byte, 1))
		}),
		"breaks off": listen(t, func(c net.Conn) {
			c.Read(make([]byte, 1))
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\nLast-Modified: Mon, 03 Feb 2031 04:05:06 GMT\r\n\r\nbegun")
		}),
	} {
		for name, call := range calls {
			if what == "breaks off" && (name == "put" || name == "replace" || name == "delete" || name == "acquire") {
				continue
			}
			t.Run(what+"/"+name, func(t *testing.T) {
				t.Parallel()
				ctx := within(t)
				if err := call(ctx, open(t, "s3://bucket?endpoint=http://"+address, fakeKeys)); err == nil || ctx.Err() != nil {
					t.Errorf("%v, context: %v", err, ctx.Err())
				}
			})
		}
	}
}

// No more than the limit and one byte is read, whatever is said of the length.
func TestLimit(t *testing.T) {
	t.Parallel()
	var wrote atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Last-Modified", "Mon, 03 Feb 2031 04:05:06 GMT")
		if r.URL.Query().Get("list-type") != "" {
			io.WriteString(w, "<ListBucketResult><Name>")
		}
		block := make([]byte, 64<<10)
		for i := range block {
			block[i] = 'x'
		}
		for { // as long as somebody reads
			n, err := w.Write(block)
			wrote.Add(int64(n))
			if err != nil || wrote.Load() > 1<<30 {
				return
			}
		}
	}))
	defer server.Close()
	o := open(t, "s3://bucket?endpoint="+server.URL, fakeKeys)
	if _, err := o.Get(within(t), "name", 1000); !errors.Is(err, remote.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	for _, err := range o.List(within(t), "") {
		if err == nil {
			t.Error("a list without an end is one")
		}
	}
	if wrote.Load() > 256<<20 {
		t.Errorf("%d bytes were taken", wrote.Load())
	}
}

// A server that lies about the length is found out.
func TestLengths(t *testing.T) {
	t.Parallel()
	head := "HTTP/1.1 200 OK\r\nLast-Modified: Mon, 03 Feb 2031 04:05:06 GMT\r\n"
	for _, test := range []struct {
		what, answer, want string
		is                 error
	}{
		{"more than is there", head + "Content-Length: 10\r\nConnection: close\r\n\r\n12345", "", io.ErrUnexpectedEOF},
		{"less than is there", head + "Content-Length: 3\r\nConnection: close\r\n\r\n12345", "123", nil},
		{"petabytes", head + "Content-Length: 4503599627370496\r\nConnection: close\r\n\r\n12345", "", io.ErrUnexpectedEOF},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			address := listen(t, func(c net.Conn) {
				c.Read(make([]byte, 64<<10))
				io.WriteString(c, test.answer)
			})
			b, err := open(t, "s3://bucket?endpoint=http://"+address, fakeKeys).Get(within(t), "name", 100)
			if string(b) != test.want || !errors.Is(err, test.is) {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
}

// A server that knows no conditions is given objects without.
func TestUnconditional(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.front = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotImplemented)
			return
		}
		next.ServeHTTP(w, r)
	}
	o := open(t, f.url, fakeKeys)
	for range 2 {
		if err := o.Put(within(t), "name", []byte("b"), false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := o.Acquire(within(t), "lease/x", time.Second); !errors.Is(err, remote.ErrUnsupported) {
		t.Errorf("a lease: %v", err)
	}
}

// Credentials that nobody answers for cost no more than the context.
func TestCredentialsThatHang(t *testing.T) {
	without(t)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://"+listen(t, func(c net.Conn) { io.Copy(io.Discard, c) }))
	o := open(t, newFake(t).url, s3.Options{})
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		start := time.Now()
		if _, err := o.Get(ctx, "name", 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("after %v", took)
		}
		cancel()
	}
}

// Roles of pods and tasks are asked for their credentials.
func TestProxyOfRoles(t *testing.T) {
	t.Parallel()
	proxy := &url.URL{Scheme: "http", Host: "proxy:3128"}
	choose := s3.NotLinkLocal(func(*http.Request) (*url.URL, error) { return proxy, nil })
	for address, want := range map[string]*url.URL{
		"http://169.254.169.254/latest/api/token": nil,
		"http://169.254.170.2/v2/credentials/x":   nil,
		"http://[fe80::1]/":                       nil,
		"http://[fd00:ec2::254]/latest":           nil,
		"https://sts.amazonaws.com/":              proxy,
		"http://10.0.0.1/":                        proxy,
	} {
		req, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := choose(req); got != want || err != nil {
			t.Errorf("%s: by %v, %v", address, got, err)
		}
	}
}

func TestRoles(t *testing.T) {
	without(t)
	role := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"AccessKeyId":"id","SecretAccessKey":"sesame","Token":"token","Expiration":%q}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	defer role.Close()
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", role.URL)
	f := newFake(t)
	var token atomic.Value
	f.front = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		token.Store(r.Header.Get("X-Amz-Security-Token"))
		next.ServeHTTP(w, r)
	}
	o := open(t, f.url, s3.Options{})
	if err := o.Put(within(t), "name", []byte("b"), false); err != nil {
		t.Fatal(err)
	}
	if token.Load() != "token" {
		t.Errorf("the token is %v", token.Load())
	}
}

// A server may close a connection that is idle just when the next request is sent.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	var closed atomic.Int32
	address := listen(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		io.Copy(io.Discard, request.Body)
		answer := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nETag: \"1\"\r\nLast-Modified: Mon, 03 Feb 2031 04:05:06 GMT\r\n\r\nok"
		if request.Method == http.MethodDelete {
			answer = "HTTP/1.1 204 No Content\r\n\r\n"
		}
		io.WriteString(c, answer)
		if request, err = http.ReadRequest(r); err == nil {
			io.Copy(io.Discard, request.Body) // what is left unread would make this another case
			closed.Add(1)
		}
	})
	o := open(t, "s3://bucket?endpoint=http://"+address, fakeKeys)
	for range 3 {
		for _, name := range []string{"get", "put", "replace", "delete", "acquire"} {
			if err := calls[name](within(t), o); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if closed.Load() == 0 {
		t.Error("no connection was used again")
	}
}

// listen serves connections, and returns its address.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}
