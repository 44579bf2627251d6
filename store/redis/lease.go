package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/kernstash/kernstash/store/remote"
)

// A lease is a key with a token that only its holder knows. A script compares and acts in one
// step: between two commands the lease could run out and be another's.
var (
	renewScript   = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) else return 0 end`)
	releaseScript = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`)
)

type lease struct {
	o           *Objects
	name, token string
}

// Acquire takes a lease. If it fails because the reply did not come in time, the lease may have
// been taken nevertheless: it runs out by itself.
func (o *Objects) Acquire(ctx context.Context, name string, ttl time.Duration) (remote.Lease, error) {
	l := &lease{o: o, name: name, token: rand.Text()}
	_, err := call(ctx, func() (string, error) {
		return o.client.SetArgs(ctx, toKey(name), l.token, redis.SetArgs{Mode: "NX", TTL: max(ttl, time.Millisecond)}).Result()
	})
	if errors.Is(err, redis.Nil) {
		return nil, remote.ErrHeld
	}
	if err != nil {
		return nil, o.wrap(ctx, "acquire", name, err)
	}
	return l, nil
}

// Renew lengthens the lease.
func (l *lease) Renew(ctx context.Context, ttl time.Duration) error {
	held, err := l.run(ctx, renewScript, max(ttl, time.Millisecond).Milliseconds())
	if err != nil {
		return l.o.wrap(ctx, "renew", l.name, err)
	}
	if !held {
		return remote.ErrLost
	}
	return nil
}

// Release ends the lease if it is still held.
func (l *lease) Release(ctx context.Context) error {
	_, err := l.run(ctx, releaseScript)
	return l.o.wrap(ctx, "release", l.name, err)
}

// run runs a script, and reports whether the lease was held.
func (l *lease) run(ctx context.Context, s *redis.Script, args ...any) (held bool, err error) {
	return call(ctx, func() (bool, error) {
		n, err := s.Run(ctx, l.o.client, []string{toKey(l.name)}, append([]any{l.token}, args...)...).Int()
		return n == 1, err
	})
}
