package s3_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/s3"
)

const leaseName = "lease/default/x"

func acquire(t *testing.T, o *s3.Objects, ttl time.Duration) remote.Lease {
	t.Helper()
	lease, err := o.Acquire(within(t), leaseName, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func wantHeld(t *testing.T, o *s3.Objects) {
	t.Helper()
	if _, err := o.Acquire(within(t), leaseName, time.Hour); !errors.Is(err, remote.ErrHeld) {
		t.Fatalf("%v, want ErrHeld", err)
	}
}

// The server's clock alone decides, and to its second.
func TestLeaseRunsOut(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.advance(-5 * 365 * 24 * time.Hour) // far from this machine's
	o := open(t, f.url, fakeKeys)
	one := acquire(t, o, time.Hour)
	f.advance(time.Hour - 2*time.Minute)
	wantHeld(t, o)
	if err := one.Renew(within(t), time.Hour); err != nil {
		t.Fatal(err)
	}
	f.advance(time.Hour - 2*time.Minute)
	wantHeld(t, o)
	f.advance(3 * time.Minute)
	two := acquire(t, o, time.Hour)
	if err := one.Renew(within(t), time.Hour); !errors.Is(err, remote.ErrLost) {
		t.Errorf("renew what ran out: %v", err)
	}
	if err := one.Release(within(t)); err != nil {
		t.Error(err)
	}
	wantHeld(t, o)
	if err := two.Renew(within(t), time.Hour); err != nil {
		t.Error(err)
	}
	// The ttl is the holder's, not that of who asks.
	if err := two.Renew(within(t), time.Minute); err != nil {
		t.Error(err)
	}
	f.advance(2 * time.Minute)
	acquire(t, o, time.Hour)
}

// Who saw a lease that had run out does not take it over if it was renewed meanwhile.
func TestLeaseRenewedMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	o := open(t, f.url, fakeKeys)
	one := acquire(t, o, time.Hour)
	f.advance(2 * time.Hour)
	var renewed atomic.Bool
	f.front = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(w, r)
		if r.Method == http.MethodGet && renewed.CompareAndSwap(false, true) {
			if err := one.Renew(context.Background(), time.Hour); err != nil {
				t.Error(err)
			}
		}
	}
	wantHeld(t, o)
	if !renewed.Load() {
		t.Error("the lease was not read")
	}
	if err := one.Renew(within(t), time.Hour); err != nil {
		t.Error(err)
	}
}

// A lease is taken, renewed and released though an answer is lost.
func TestLeaseAnswersAreLost(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var lose atomic.Int32 // answers to PUT
	f.front = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodPut || lose.Add(-1) < 0 {
			next.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(discard{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	}
	o := open(t, f.url, fakeKeys)
	if _, err := o.Get(within(t), leaseName, 1000); !errors.Is(err, remote.ErrNotFound) {
		t.Fatal(err)
	}
	lose.Store(1) // and the request is sent again: there was a connection
	lease := acquire(t, o, time.Hour)
	if err := lease.Renew(within(t), time.Hour); err != nil {
		t.Fatalf("the lease was taken, and the answer lost: %v", err)
	}
	lose.Store(100)
	if err := lease.Renew(within(t), time.Hour); err == nil || errors.Is(err, remote.ErrLost) {
		t.Fatalf("the answer is lost: %v", err)
	}
	lose.Store(0)
	if err := lease.Renew(within(t), time.Hour); err != nil {
		t.Fatalf("after an answer that was lost: %v", err)
	}
	if err := lease.Release(within(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Get(within(t), leaseName, 1000); !errors.Is(err, remote.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// A discard takes an answer that nobody gets.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// A holder that does not know whether its lease ran out does not remove another's, though the
// server does not look at the ETag of what it removes, as this one.
func TestLeaseReleasedLate(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	o := open(t, f.url, fakeKeys)
	one := acquire(t, o, time.Millisecond)
	for taken := time.Now(); time.Since(taken) < time.Millisecond; {
		runtime.Gosched()
	}
	f.advance(time.Minute)
	acquire(t, o, time.Hour)
	if err := one.Release(within(t)); err != nil {
		t.Error(err)
	}
	wantHeld(t, o)
}

// Who may not delete writes that the lease has ended.
func TestLeaseWithoutDelete(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.front = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	}
	o := open(t, f.url, fakeKeys)
	for range 3 {
		if err := acquire(t, o, time.Hour).Release(within(t)); err != nil {
			t.Fatal(err)
		}
	}
}

// What is no lease holds as long as who asks would hold it, and is then taken over. What does
// not tell its age holds.
func TestLeaseOfAnother(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty":         "",
		"something":     "something\nelse\n",
		"large":         strings.Repeat("x", 1<<20),
		"no number":     "kernstash lease 1\ntoken\nlong\nnonce\n",
		"negative":      "kernstash lease 1\ntoken\n-5\nnonce\n",
		"for centuries": fmt.Sprintf("kernstash lease 1\ntoken\n%d\nnonce\n", int64(1)<<60),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			o := open(t, f.url, fakeKeys)
			if err := o.Put(within(t), leaseName, []byte(content), true); err != nil {
				t.Fatal(err)
			}
			wantHeld(t, o)
			f.advance(2 * time.Hour)
			lease := acquire(t, o, time.Hour)
			wantHeld(t, o)
			if err := lease.Release(within(t)); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("no time", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		o := open(t, f.url, fakeKeys)
		acquire(t, o, time.Millisecond)
		f.advance(time.Hour)
		f.front = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodGet {
				w = noDate{w}
			}
			next.ServeHTTP(w, r)
		}
		wantHeld(t, o)
	})
}

// A noDate answers without a Date.
type noDate struct{ http.ResponseWriter }

func (n noDate) WriteHeader(status int) {
	n.Header()["Date"] = nil
	n.ResponseWriter.WriteHeader(status)
}

func (n noDate) Write(b []byte) (int, error) {
	n.Header()["Date"] = nil
	return n.ResponseWriter.Write(b)
}

// One request takes a lease, and one ends it.
func TestLeaseRequests(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var requests, written, removed atomic.Value
	requests.Store("")
	f.front = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		requests.Store(requests.Load().(string) + r.Method + " ")
		if r.Method == http.MethodDelete {
			removed.Store(r.Header.Get("If-Match"))
		}
		next.ServeHTTP(w, r)
		if r.Method == http.MethodPut && w.Header().Get("ETag") != "" {
			written.Store(w.Header().Get("ETag"))
		}
	}
	o := open(t, f.url, fakeKeys)
	lease := acquire(t, o, time.Hour)
	wantHeld(t, o)
	if err := lease.Renew(within(t), time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(within(t)); err != nil {
		t.Fatal(err)
	}
	if got, want := requests.Load(), "PUT PUT GET PUT DELETE "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if removed.Load() != written.Load() || written.Load() == nil {
		t.Errorf("removed if it is %v, and %v was written", removed.Load(), written.Load())
	}
}

// A conflict of any name is another's write: the lease is looked at, and asked for once more.
func TestLeaseConflicts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		conflicts int
		taken     bool
	}{"once": {1, true}, "always": {100, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			left := tt.conflicts
			f.front = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.Method == http.MethodPut && left > 0 {
					left--
					w.WriteHeader(http.StatusConflict)
					fmt.Fprint(w, "<Error><Code>ExistingObjectIsDirectory</Code></Error>")
					return
				}
				next.ServeHTTP(w, r)
			}
			_, err := open(t, f.url, fakeKeys).Acquire(within(t), leaseName, time.Hour)
			if tt.taken && err != nil || !tt.taken && !errors.Is(err, remote.ErrHeld) {
				t.Errorf("it is taken: %v, want %v", err, tt.taken)
			}
		})
	}
}

// Times of servers have whole seconds, so a lease has run out for sure a second later.
func TestLeaseHolds(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, test := range []struct {
		ttl, age, asked time.Duration
		want            bool
	}{
		{10 * s, 0, s, true},
		{10 * s, 10 * s, s, true},
		{10 * s, 11 * s, s, false},
		{10 * s, 11 * s, 60 * s, false},
		{10*s + s/2, 11 * s, s, true},
		{10*s + s/2, 12 * s, s, false},
		{0, 0, 60 * s, false}, // released
		{10 * s, -1, s, true}, // no times
		{0, -1, s, false},
		{-1, 30 * s, 60 * s, true}, // it is no lease
		{-1, 61 * s, 60 * s, false},
	} {
		if got := s3.Holds(test.ttl, test.age, test.asked); got != test.want {
			t.Errorf("%v old, of %v, asked for %v: %v", test.age, test.ttl, test.asked, got)
		}
	}
}

// Whatever stands in an object, it is no lease, or one with a ttl of at most 25 days.
func FuzzLease(f *testing.F) {
	f.Add([]byte("kernstash lease 1\nTOKEN\n60000\nNONCE\n"))
	f.Add([]byte("kernstash lease 1\nTOKEN\n-1\nNONCE\n"))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		token, ttl := s3.ParseLease(b)
		if ttl < 0 && (ttl != -1 || token != "") || ttl > 25*24*time.Hour || strings.Contains(token, "\n") {
			t.Errorf("%q, %v", token, ttl)
		}
	})
}
