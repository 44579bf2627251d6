// Package http keeps objects behind an HTTP server that has GET, HEAD, PUT and DELETE, as nginx with
// WebDAV does, and most servers of artifacts. The object a/b of the URL http://host/c is
// http://host/c/a/b.
package http

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
)

const (
	connections = 16 // that are kept, to one server

	// These bound calls without a deadline.
	dialTimeout = 5 * time.Second
	callTimeout = 5 * time.Minute

	maxHeader = 64 << 10 // bytes
)

// Options are those of Open. What a URL says has precedence.
type Options struct {
	// MaxSize is the largest object, in bytes, that is put or got. A larger one is
	// remote.ErrTooLarge. 0: no limit.
	MaxSize int64
}

// Objects is an HTTP server. It implements remote.Objects.
type Objects struct {
	client  *http.Client
	base    *url.URL // with the path's '/' at its end, without credentials
	user    *url.Userinfo
	token   string // the file of a bearer token
	maxSize int64
	secrets []string
	puts    [64]chan struct{} // each full while one Put without replace is under way; by name
}

var _ remote.Objects = (*Objects)(nil)

// Open returns the objects of a URL, http://[user:password@]host[:port][/path] or the same with https.
// It reads the files that the URL names, and does not connect. Parameters, behind '?': token-file is
// a file with a bearer token, which is read anew for each request; ca-file, cert-file and key-file are
// PEM files for TLS: whom to trust instead of the system's authorities, and the client's certificate
// and key; max-size (bytes) is that of Options. Proxies are those of the variables HTTP_PROXY,
// HTTPS_PROXY and NO_PROXY.
//
// No error shows a password or a token, and no more does String.
func Open(rawURL string, o Options) (*Objects, error) {
	t, err := parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	objects := &Objects{
		base: t.base, user: t.user, token: t.files.token, secrets: secrets(t.user),
		maxSize: t.maxSize,
	}
	for i := range objects.puts {
		objects.puts[i] = make(chan struct{}, 1)
	}
	if objects.maxSize == 0 {
		objects.maxSize = o.MaxSize
	}
	objects.client = &http.Client{
		CheckRedirect: checkRedirect,
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			OnProxyConnectResponse: refused,
			DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSClientConfig:        t.tls,
			TLSHandshakeTimeout:    dialTimeout,
			ForceAttemptHTTP2:      true,
			DisableCompression:     true,
			MaxIdleConnsPerHost:    connections,
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: maxHeader,
			ReadBufferSize:         64 << 10,
			WriteBufferSize:        64 << 10,
		},
	}
	return objects, nil
}

// refused returns the error of a proxy that does not connect. net/http's own is what the proxy has written.
func refused(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return fmt.Errorf("the proxy answers %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
}

// checkRedirect has a redirect followed if a GET is sent elsewhere on the same server. The others
// would take credentials to somebody else, or, of a PUT, make a GET that succeeds.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if req.Method != http.MethodGet || first.Method != http.MethodGet ||
		req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}

// String returns the URL without user, password and parameters.
func (o *Objects) String() string { return o.base.String() }

// Close ends the connections that are idle.
func (o *Objects) Close() error {
	o.client.CloseIdleConnections()
	return nil
}

// Get returns an object.
func (o *Objects) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	limit = o.limit(limit)
	var b []byte
	err := o.do(ctx, http.MethodGet, name, nil, nil, func(resp *http.Response) (err error) {
		switch resp.StatusCode {
		case http.StatusOK:
		case http.StatusNotFound, http.StatusGone:
			return remote.ErrNotFound
		default:
			return &statusError{resp}
		}
		if strings.HasSuffix(resp.Request.URL.Path, "/") {
			return remote.ErrNotFound // led to a directory
		}
		if e := resp.Header.Get("Content-Encoding"); e != "" && e != "identity" {
			return fmt.Errorf("the server sends what was not asked for: Content-Encoding %.20q", e)
		}
		b, err = read(ctx, resp, limit)
		return err
	})
	if err != nil {
		return nil, o.wrap(ctx, "get", name, err)
	}
	return b, nil
}

func (o *Objects) limit(limit int64) int64 {
	if o.maxSize > 0 {
		return min(limit, o.maxSize)
	}
	return limit
}

// read returns the body of a response, and reads limit+1 bytes at most.
func read(ctx context.Context, resp *http.Response, limit int64) ([]byte, error) {
	if resp.ContentLength > limit {
		return nil, remote.ErrTooLarge
	}
	var b bytes.Buffer
	// What a server announces is allocated only as far as it is likely.
	b.Grow(int(min(max(resp.ContentLength, 0), 1<<20)) + bytes.MinRead)
	if _, err := io.Copy(&b, io.LimitReader(store.Flowing(ctx, resp.Body, resp.ContentLength), limit+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) > limit {
		return nil, remote.ErrTooLarge
	}
	return b.Bytes(), nil
}

// Put writes an object. A server that heeds no If-None-Match, as nginx, has an object replaced that
// another process puts between the two requests of a Put without replace.
func (o *Objects) Put(ctx context.Context, name string, b []byte, replace bool) error {
	if o.maxSize > 0 && int64(len(b)) > o.maxSize {
		return fmt.Errorf("put %s: %d bytes: %w", name, len(b), remote.ErrTooLarge)
	}
	header := make(http.Header)
	if !replace {
		turn := o.puts[crc32.ChecksumIEEE([]byte(name))%uint32(len(o.puts))]
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return o.wrap(ctx, "put", name, ctx.Err())
		}
		// It saves the upload besides.
		err := o.do(ctx, http.MethodHead, name, nil, nil, func(resp *http.Response) error {
			switch resp.StatusCode {
			case http.StatusOK:
				return remote.ErrExists
			case http.StatusNotFound, http.StatusGone, http.StatusMethodNotAllowed, http.StatusNotImplemented:
				return nil
			}
			return &statusError{resp}
		})
		if err != nil {
			return o.wrap(ctx, "put", name, err)
		}
		header.Set("If-None-Match", "*")
	}
	return o.wrap(ctx, "put", name, o.do(ctx, http.MethodPut, name, header, b, func(resp *http.Response) error {
		switch resp.StatusCode {
		case http.StatusOK, http.StatusCreated, http.StatusNoContent:
			return nil
		case http.StatusPreconditionFailed:
			if !replace {
				return remote.ErrExists
			}
		case http.StatusRequestEntityTooLarge:
			return remote.ErrTooLarge
		case http.StatusInsufficientStorage:
			return remote.ErrFull
		}
		return &statusError{resp}
	}))
}

// Delete removes an object.
func (o *Objects) Delete(ctx context.Context, name string) error {
	return o.wrap(ctx, "delete", name, o.do(ctx, http.MethodDelete, name, nil, nil, func(resp *http.Response) error {
		switch resp.StatusCode {
		case http.StatusOK, http.StatusAccepted, http.StatusNoContent, http.StatusNotFound, http.StatusGone:
			return nil
		}
		return &statusError{resp}
	}))
}

// do makes a request, and calls then with the response, whose body then does not close.
func (o *Objects) do(ctx context.Context, method, name string, header http.Header, body []byte, then func(*http.Response) error) error {
	if slices.Contains(strings.Split(name, "/"), "..") || slices.Contains(strings.Split(name, "/"), ".") {
		return errors.New("a part of the name is one dot, or two")
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	u := *o.base
	u.Path += name
	var content io.Reader
	if method == http.MethodPut {
		body = bytes.Clone(body) // the transport may read it after Do has returned
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), content)
	if err != nil {
		return err
	}
	if len(body) > 0 {
		req.Body = io.NopCloser(store.Flowing(ctx, content, int64(len(body))))
	}
	if header != nil {
		req.Header = header
	}
	req.Header.Set("User-Agent", "kernstash")
	req.Header.Set("Accept-Encoding", "identity")
	if content != nil {
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	if err := o.authorize(req); err != nil {
		return err
	}
	resp, err := o.client.Do(req)
	if err != nil {
		return err
	}
	defer func() {
		// A connection whose response has been read can be used again.
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
		_ = resp.Body.Close()
	}()
	return then(resp)
}

// authorize sets the credentials of the caller.
func (o *Objects) authorize(req *http.Request) error {
	if o.token != "" {
		token, err := readToken(o.token)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	} else if o.user != nil {
		password, _ := o.user.Password()
		req.SetBasicAuth(o.user.Username(), password)
	}
	return nil
}

// target is what a URL says.
type target struct {
	base    *url.URL
	user    *url.Userinfo
	files   files
	tls     *tls.Config
	maxSize int64
}
