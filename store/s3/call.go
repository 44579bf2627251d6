package s3

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
)

const (
	// maxCalls is how many calls are under way at most, those included that nobody waits for
	// any more.
	maxCalls = 64
	// maxAnswer bounds what is read of an error, and of a page of a list, which has at most 1000
	// names.
	maxError = 64 << 10
	maxList  = 8 << 20
	// callTimeout bounds a call without a deadline, and the time until the next of a list's objects.
	callTimeout = 5 * time.Minute
)

// Error is what a server answers that is no success. By errors.Is it is a remote.ErrNotFound,
// ErrExists, ErrFull, ErrTooLarge or ErrUnsupported, or a store.ErrBusy, where it means that.
type Error struct {
	Status  int    // of HTTP
	Code    string // such as SlowDown; may be empty
	Message string // for people; may be empty
}

// throttled are the codes of answers to too many calls, of Amazon's S3 and of others.
var throttled = []string{"SlowDown", "SlowDownRead", "SlowDownWrite", "TooManyRequests", "RequestLimitExceeded", "Throttling", "ThrottlingException"}

func (e *Error) Error() string {
	text := fmt.Sprintf("the server answers %d", e.Status)
	if e.Code != "" {
		text += " " + e.Code
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Is makes errors.Is know what is meant.
func (e *Error) Is(target error) bool {
	switch target {
	case remote.ErrNotFound:
		return e.Status == http.StatusNotFound && e.Code != "NoSuchBucket"
	case remote.ErrExists:
		// A conflict: another is being written.
		return e.Status == http.StatusPreconditionFailed ||
			e.Status == http.StatusConflict && slices.Contains([]string{"ConditionalRequestConflict", "OperationAborted"}, e.Code)
	case remote.ErrFull:
		return e.Status == http.StatusInsufficientStorage ||
			slices.Contains([]string{"QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded"}, e.Code)
	case store.ErrBusy: // any other 503 may be a server that is down, behind one that is not
		return e.Status == http.StatusTooManyRequests || slices.Contains(throttled, e.Code)
	case remote.ErrTooLarge:
		return e.Code == "EntityTooLarge" || e.Status == http.StatusRequestEntityTooLarge
	case remote.ErrUnsupported:
		return e.Status == http.StatusNotImplemented
	}
	return false
}

// answer returns the error that a response means. It does not repeat a session token, which some proxies'
// pages show with the whole request.
func answer(resp *http.Response, token string) *Error {
	var body struct{ Code, Message string }
	b, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
	_ = xml.Unmarshal(b, &body) // without a body, or with another, the status says it
	if token != "" {
		body.Code, body.Message = strings.ReplaceAll(body.Code, token, "***"), strings.ReplaceAll(body.Message, token, "***")
	}
	e := &Error{Status: resp.StatusCode, Code: printable(body.Code), Message: printable(body.Message)}
	if region := resp.Header.Get("X-Amz-Bucket-Region"); region != "" && resp.StatusCode != http.StatusNotFound {
		e.Message = strings.TrimPrefix(e.Message+"; the bucket is in the region "+printable(region), "; ")
	}
	if to, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 {
		e.Message = strings.TrimPrefix(e.Message+"; it leads to "+to.Scheme+"://"+to.Host, "; ")
	}
	return e
}

// printable returns what a terminal shows of a server's words, shortened.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.TrimSpace(strings.ToValidUTF8(s, "?")))
	if r := []rune(s); len(r) > 200 {
		s = string(r[:200]) + "..."
	}
	return s
}

// call is one call of the client. Its fields are of the goroutine that makes the call, but for
// failed.
type call struct {
	ifMatch string // an ETag without quotes: a condition that the client has no option for
	body    []byte // what is sent; may be nil
	limit   int64  // bytes of an answer's body; 0: no limit
	failed  chan error
}

type callKey struct{}

// do runs f, which calls the client with the context that it is given, and returns with what f
// returns, or as soon as ctx ends. f may go on then, until the client notices: it asks for
// credentials, and waits for who asks, without a context. It waits after its last try, too: so
// an error of the transport ends the call.
func do[T any](ctx context.Context, o *Objects, c call, f func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	ctx, end := context.WithTimeout(ctx, o.timeout)
	defer end()
	select {
	case o.calls <- struct{}{}:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	c.failed = make(chan error, 1)
	done := make(chan result, 1)
	go func() {
		defer func() { <-o.calls }()
		defer func() {
			if p := recover(); p != nil { // by what a server sent
				done <- result{err: fmt.Errorf("the client of S3 panics: %v", p)}
			}
		}()
		value, err := f(context.WithValue(inner, callKey{}, &c))
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		// The transport's own word is better than what the client makes of it.
		select {
		case err := <-c.failed:
			return none, err
		default:
		}
		return r.value, r.err
	case err := <-c.failed:
		return none, err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// transport is what the client sends requests by. An answer that is no success is an error.
type transport struct{ base http.RoundTripper }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c, ok := req.Context().Value(callKey{}).(*call)
	if !ok {
		return nil, errors.New("a request of no call")
	}
	sent := *req
	sent.Header = req.Header.Clone()
	if c.ifMatch != "" {
		sent.Header.Set("If-Match", `"`+c.ifMatch+`"`) // signatures do not need to cover it
	}
	// Servers close connections that are idle. What meets one that ends before an answer begins is sent
	// once more, on another: to do twice what we ask for is to do it once, or leaves what is there. This
	// header says so to package http, and is not sent.
	sent.Header["Idempotency-Key"] = nil
	if c.body != nil {
		if len(c.body) > 0 && sent.Body != nil {
			sent.Body = &flowing{sent.Body, store.Flowing(req.Context(), sent.Body, int64(len(c.body)))}
		}
		sent.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.body)), nil }
	}
	resp, err := t.base.RoundTrip(&sent)
	if err == nil && resp.StatusCode >= 300 {
		err = answer(resp, sent.Header.Get("X-Amz-Security-Token"))
		resp.Body.Close()
	}
	if err != nil {
		select {
		case c.failed <- err:
		default:
		}
		return nil, err
	}
	if c.limit > 0 {
		resp.Body = &limited{resp.Body, c.limit}
	}
	return resp, nil
}

// flowing is a body that tells of what it moves.
type flowing struct {
	io.Closer
	io.Reader
}

// limited fails where a body is longer than n.
type limited struct {
	io.ReadCloser
	n int64
}

func (l *limited) Read(b []byte) (int, error) {
	if l.n <= 0 {
		return 0, errors.New("the answer is too long")
	}
	n, err := l.ReadCloser.Read(b[:min(int64(len(b)), l.n)])
	l.n -= int64(n)
	return n, err
}
