package s3

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/kernstash/kernstash/store/remote"
)

// A lease is an object that says how long it holds. It ran out when the server's clock, the
// Date of its answer, is that much past the time at which the server says it was written: no
// clock of a client takes part. It is taken by a PUT where there is none (If-None-Match: *),
// and taken over, renewed and ended under the condition that it is still the one that was seen
// (If-Match). No two writes of a lease are equal, or they would have one ETag, and a lease that
// was renewed meanwhile could be taken over.
//
// What can go wrong costs a second build, or makes others wait for at most one ttl:
//   - an answer is lost, and the lease is taken by nobody who knows;
//   - both times have whole seconds, so that it runs out up to two seconds late, and early by
//     what the clocks of a server's machines differ;
//   - a server does not look at If-Match of DELETE, and the machine slept, which its clock for
//     durations does not count, until another took the lease: then Release removes that one;
//   - a server does not look at conditions of PUT: then everybody takes the lease.

const (
	leaseMagic = "kernstash lease 1"
	maxLease   = 4 << 10 // bytes
	// leaseGrain is the precision of a Date and of a Last-Modified.
	leaseGrain = time.Second
)

// Acquire takes the lease of a name; see remote.Leaser. An error that is not ErrHeld may leave
// a lease behind that holds until ttl from now.
func (o *Objects) Acquire(ctx context.Context, name string, ttl time.Duration) (remote.Lease, error) {
	if o.unconditional.Load() {
		return nil, fmt.Errorf("lease %s: %w", name, remote.ErrUnsupported)
	}
	l := &lease{o: o, name: name, token: rand.Text()}
	// Once more where it was released meanwhile.
	for range 2 {
		err := l.write(ctx, ttl, absent)
		if err == nil {
			return l, nil
		}
		if errors.Is(err, remote.ErrUnsupported) {
			o.unconditional.Store(true)
		}
		if !errors.Is(err, remote.ErrExists) && !conflicts(err) {
			return nil, fmt.Errorf("lease %s: %w", name, err)
		}
		seen, err := o.readLease(ctx, name)
		switch {
		case errors.Is(err, remote.ErrNotFound):
			continue
		case err != nil:
			return nil, fmt.Errorf("lease %s: %w", name, err)
		case seen.token == l.token: // written, but the answer was lost on its way
			l.etag = seen.etag
			return l, nil
		case seen.holds(ttl):
			return nil, fmt.Errorf("lease %s: %w", name, remote.ErrHeld)
		}
		err = l.write(ctx, ttl, matching(seen.etag))
		switch {
		case err == nil:
			return l, nil
		case !errors.Is(err, remote.ErrExists) && !errors.Is(err, remote.ErrNotFound):
			return nil, fmt.Errorf("lease %s: %w", name, err)
		}
		break // another was faster
	}
	return nil, fmt.Errorf("lease %s: %w", name, remote.ErrHeld)
}

// conflicts reports whether a server says that another writes the same object, by whatever code: versitygw calls
// a lease that is taken just then a directory.
func conflicts(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusConflict
}

// matching has an object replaced that has this ETag.
func matching(etag string) func(*minio.PutObjectOptions) {
	return func(p *minio.PutObjectOptions) { p.SetMatchETag(etag) }
}

// lease is one that is held.
type lease struct {
	o     *Objects
	name  string
	token string
	etag  string    // of what was written last; may be empty
	until time.Time // by this machine's clock for durations: it surely holds
	ended bool      // it was released, or is lost
}

// write writes the lease with a ttl from now.
func (l *lease) write(ctx context.Context, ttl time.Duration, condition func(*minio.PutObjectOptions)) error {
	before := time.Now()
	text := fmt.Sprintf("%s\n%s\n%d\n%s\n", leaseMagic, l.token, (ttl + time.Millisecond - 1).Milliseconds(), rand.Text())
	etag, err := l.o.put(ctx, l.name, []byte(text), condition)
	if err != nil {
		return err
	}
	l.etag, l.until = etag, before.Add(ttl)
	return nil
}

// Renew lengthens the lease; see remote.Lease.
func (l *lease) Renew(ctx context.Context, ttl time.Duration) error {
	err := remote.ErrLost
	if !l.ended {
		err = l.rewrite(ctx, ttl)
	}
	if err != nil {
		l.ended = errors.Is(err, remote.ErrLost)
		return fmt.Errorf("renew the lease %s: %w", l.name, err)
	}
	return nil
}

// rewrite writes the lease anew if it is still ours. ErrLost: it is not.
func (l *lease) rewrite(ctx context.Context, ttl time.Duration) error {
	err := remote.ErrExists
	if l.etag != "" {
		err = l.write(ctx, ttl, matching(l.etag))
	}
	if errors.Is(err, remote.ErrExists) {
		// It is another's, or the answer to our last write was lost, or had no ETag.
		var seen leaseState
		if seen, err = l.o.readLease(ctx, l.name); err == nil {
			if seen.token != l.token || seen.etag == "" {
				return remote.ErrLost
			}
			err = l.write(ctx, ttl, matching(seen.etag))
		}
	}
	if errors.Is(err, remote.ErrExists) || errors.Is(err, remote.ErrNotFound) {
		return remote.ErrLost
	}
	return err
}

// Release ends the lease if it is still held; see remote.Lease.
func (l *lease) Release(ctx context.Context) error {
	if l.ended {
		return nil
	}
	err := l.remove(ctx)
	if err != nil && !errors.Is(err, remote.ErrLost) {
		return fmt.Errorf("release the lease %s: %w", l.name, err)
	}
	l.ended = true
	return nil
}

// remove removes the lease, or writes that it has ended. ErrLost: it was another's.
func (l *lease) remove(ctx context.Context) error {
	if !time.Now().Before(l.until) {
		// Another may have it, and the server may not look at the ETag of what it removes.
		return l.rewrite(ctx, 0)
	}
	switch err := l.o.delete(ctx, l.name, l.etag); {
	case errors.Is(err, remote.ErrNotFound):
		return remote.ErrLost
	case errors.Is(err, remote.ErrExists), denied(err):
		return l.rewrite(ctx, 0) // the answer to our last write was lost; or we may not
	default:
		return err
	}
}

// denied reports whether the server does not let us do something.
func denied(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Status == http.StatusForbidden || e.Status == http.StatusNotImplemented)
}

// leaseState is a lease as the server tells of it.
type leaseState struct {
	token, etag string
	ttl         time.Duration // -1: it is not known
	age         time.Duration // -1: it is not known
}

func (o *Objects) readLease(ctx context.Context, name string) (leaseState, error) {
	found, err := o.get(ctx, name, maxLease)
	if err != nil && !errors.Is(err, remote.ErrTooLarge) {
		return leaseState{}, err
	}
	s := leaseState{age: -1}
	if found.header != nil {
		s.etag = strings.Trim(found.header.Get("ETag"), `"`)
		modified, err := http.ParseTime(found.header.Get("Last-Modified"))
		now, err2 := http.ParseTime(found.header.Get("Date"))
		if err == nil && err2 == nil {
			s.age = max(now.Sub(modified), 0)
		}
	}
	s.token, s.ttl = parseLease(found.body)
	return s, nil
}

// parseLease returns what a lease says of itself; ttl -1: it is none.
func parseLease(b []byte) (token string, ttl time.Duration) {
	lines := strings.Split(string(b), "\n")
	if len(lines) != 5 || lines[0] != leaseMagic {
		return "", -1
	}
	ms, err := strconv.ParseInt(lines[2], 10, 32)
	if err != nil || ms < 0 {
		return "", -1
	}
	return lines[1], time.Duration(ms) * time.Millisecond
}

// holds reports whether a lease has not run out. One that says nothing of itself holds as
// long as who asks would take it for.
func (s leaseState) holds(ttl time.Duration) bool {
	if s.ttl >= 0 {
		ttl = s.ttl
	}
	if ttl == 0 && s.ttl == 0 {
		return false // released
	}
	return s.etag == "" || s.age < 0 || s.age < ttl+leaseGrain
}
