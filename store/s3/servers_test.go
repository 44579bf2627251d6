package s3_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"

	"github.com/kernstash/kernstash/internal/needs/versitygw"
	"github.com/kernstash/kernstash/store/s3"
)

func TestMain(m *testing.M) {
	// The client pauses after its last try, too. No test may wait for that.
	minio.DefaultRetryUnit, minio.DefaultRetryCap = time.Hour, time.Hour
	os.Exit(m.Run())
}

var fakeKeys = s3.Options{AccessKey: "key", SecretKey: "secret-of-tests"}

// within returns a context for calls that must not take long. A busy machine is no failure.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// A clock is a server's, ahead of this machine's by as much as a test wants.
type clock struct{ ahead atomic.Int64 }

func (c *clock) Now() time.Time                  { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *clock) advance(d time.Duration)         { c.ahead.Add(int64(d)) }

// fake is a server in the process, whose clock a test moves, and whose answers it may change.
type fake struct {
	*clock
	url   string // of a bucket
	front func(w http.ResponseWriter, r *http.Request, next http.Handler)
}

func newFake(t testing.TB) *fake {
	t.Helper()
	f := &fake{clock: new(clock)}
	backend := s3mem.New(s3mem.WithTimeSource(f.clock))
	server := gofakes3.New(backend, gofakes3.WithTimeSource(f.clock), gofakes3.WithTimeSkewLimit(0)).Server()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", f.Now().UTC().Format(http.TimeFormat))
		if f.front != nil {
			f.front(w, r, server)
			return
		}
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	f.url = "s3://bucket/a/prefix?endpoint=" + url.QueryEscape(h.URL)
	return f
}

func open(t testing.TB, address string, o s3.Options) *s3.Objects {
	t.Helper()
	objects, err := s3.Open(address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { objects.Close() })
	return objects
}

// eachServer runs a test with the objects of an empty bucket: of a server in the process, and
// of a real one.
func eachServer(t *testing.T, test func(t *testing.T, o *s3.Objects)) {
	t.Run("fake", func(t *testing.T) {
		t.Parallel()
		test(t, open(t, newFake(t).url, fakeKeys))
	})
	t.Run("versitygw", func(t *testing.T) {
		t.Parallel()
		server := versitygw.Start(t)
		test(t, open(t, server.URL(server.Bucket(t, "")+"/a/prefix"), keys(server.User)))
	})
}

func keys(u versitygw.User) s3.Options {
	return s3.Options{AccessKey: u.AccessKey, SecretKey: u.SecretKey}
}
