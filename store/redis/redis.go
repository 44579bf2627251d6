// Package redis keeps objects in Redis or Valkey: the fleet's fast place for what is small,
// and for its leases. The object of the name a/b is the string of the key kc:a:b.
package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
)

const (
	// DefaultMaxSize is Options.MaxSize if that is zero: a stream of large values delays
	// the small ones a hundredfold.
	DefaultMaxSize = 1 << 20

	// prefix begins each key, so that a server can have other users.
	prefix = "kc:"

	// many is how many objects one pipeline asks for, and pipelines how many are under way. They
	// bound what replies take.
	many      = 64
	pipelines = 2

	connections = 16 // to a server, at most

	// These bound calls without a deadline. A connection may be made for the next call after
	// the one that asked for it has ended.
	dialTimeout = 2 * time.Second
	callTimeout = 30 * time.Second
)

// Options are those of Open. What a URL says has precedence.
type Options struct {
	// MaxSize is the largest object, in bytes, that is put or got. A larger one is
	// remote.ErrTooLarge. 0: DefaultMaxSize.
	MaxSize int64

	// TTL is the time after which an object goes, counted from when it was put. 0: it stays
	// until the server evicts it.
	TTL time.Duration
}

// Objects is a Redis server, a cluster, or a server that sentinels watch. It implements
// remote.Objects, remote.ManyGetter and remote.Leaser.
type Objects struct {
	client  redis.UniversalClient
	target  string // for people, without credentials
	secrets []string
	maxSize int64
	ttl     time.Duration
}

var (
	_ remote.Objects    = (*Objects)(nil)
	_ remote.ManyGetter = (*Objects)(nil)
	_ remote.Leaser     = (*Objects)(nil)
)

// go-redis writes to standard error of its own accord, which is the application's.
var quiet = sync.OnceFunc(logging.Disable)

// Open returns the objects of a URL. It reads the files that the URL names, and does not
// connect: that the server cannot be reached is an error of the methods. The forms are
//
//	redis://[user[:password]@]host[:port][/database]
//	rediss://…   the same over TLS
//	unix://[user[:password]@]/path/of/socket
//
// Without a password in the URL, that of the variable REDISCLI_AUTH is used, as redis-cli does.
// Parameters, behind '?': addr=host:port, repeated, are more nodes of a cluster or more
// sentinels; cluster=true says that it is one; sentinel-master is the name by which the
// sentinels, which the URL names then, know the server, and sentinel-user and
// sentinel-password are for them; db is the database; ca-file, cert-file and key-file are PEM
// files for TLS: whom to trust instead of the system's authorities, and the client's
// certificate and key; max-size (bytes) and ttl (such as 168h) are those of Options.
//
// No error shows a password, and no more does String.
func Open(rawURL string, o Options) (*Objects, error) {
	quiet()
	t, err := parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	if t.maxSize == 0 {
		t.maxSize = o.MaxSize
	}
	if t.maxSize <= 0 {
		t.maxSize = DefaultMaxSize
	}
	if t.ttl == 0 {
		t.ttl = max(o.TTL, 0)
	}
	d := &dialer{tls: t.tls, maxBulk: max(t.maxSize+2, minBulk)}
	return &Objects{
		client: redis.NewUniversalClient(&redis.UniversalOptions{
			Addrs:            t.addrs,
			DB:               t.db,
			Username:         t.user,
			Password:         t.password,
			MasterName:       t.master,
			SentinelUsername: t.sentinelUser,
			SentinelPassword: t.sentinelPassword,
			IsClusterMode:    t.cluster,
			Dialer:           d.dial,
			Protocol:         2, // version 3 adds what servers say unasked

			// Every call ends with its context, and is made once: who calls knows better
			// whether it is worth another.
			ContextTimeoutEnabled: true,
			MaxRetries:            -1,
			DialerRetries:         1,
			DialTimeout:           dialTimeout,
			ReadTimeout:           callTimeout,
			WriteTimeout:          callTimeout,
			PoolSize:              connections,
			PipelinePoolSize:      -1,
			ConnMaxIdleTime:       5 * time.Minute,

			// Commands that limited users may not give.
			DisableIdentity:          true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		}),
		target:  t.String(),
		secrets: t.secrets(),
		maxSize: t.maxSize,
		ttl:     t.ttl,
	}, nil
}

// String returns the URL without user, password and parameters.
func (o *Objects) String() string { return o.target }

// Close ends the connections.
func (o *Objects) Close() error { return o.client.Close() }

// Get returns an object. More than the lesser of limit and Options.MaxSize is
// remote.ErrTooLarge. Who follows the call with a [store.Flow] gets a large object in pieces.
func (o *Objects) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	limit = min(limit, o.maxSize)
	if flow := store.FlowOf(ctx); flow != nil {
		b, err := o.getInPieces(ctx, flow, toKey(name), limit)
		if errors.Is(err, remote.ErrTooLarge) {
			return nil, err
		}
		return o.got(ctx, name, b, limit, err)
	}
	b, err := call(ctx, func() ([]byte, error) { return o.client.GetRange(ctx, toKey(name), 0, limit+1).Bytes() })
	return o.got(ctx, name, b, limit, err)
}

// escape begins the value of an object that has no bytes, or begins with this one; other values are
// the objects themselves. So there is no empty value, and GETRANGE, which answers with an empty string
// for a key that is not there, tells in one round trip what is there, without reading more than a few
// bytes beyond a limit.
const escape = 0xff

// toValue returns the value for an object, which the caller does not own.
func toValue(b []byte) []byte {
	if len(b) == 0 || b[0] == escape {
		return append([]byte{escape}, b...)
	}
	return bytes.Clone(b) // a call may outlive its caller's interest
}

// objectSize returns the size of the object whose value has this size and begins with this byte.
func objectSize(value int64, first byte) int64 {
	if first == escape {
		return value - 1
	}
	return value
}

// got returns what a range of limit+2 bytes at most says.
func (o *Objects) got(ctx context.Context, name string, b []byte, limit int64, err error) ([]byte, error) {
	switch {
	case err != nil:
		return nil, o.wrap(ctx, "get", name, err)
	case len(b) == 0:
		return nil, remote.ErrNotFound
	}
	if b[0] == escape {
		b = b[1:]
	}
	if int64(len(b)) > limit {
		return nil, remote.ErrTooLarge
	}
	return b, nil
}

// GetMany gets objects in pipelines, which work across the nodes of a cluster as MGET does not. The
// next are under way while got is called.
func (o *Objects) GetMany(ctx context.Context, names []string, limit int64, got func(name string, b []byte, err error)) error {
	limit = min(limit, o.maxSize)
	chunks := slices.Collect(slices.Chunk(names, many))
	todo, done := make(chan []string, len(chunks)), make(chan pipelined)
	for _, chunk := range chunks {
		todo <- chunk
	}
	close(todo)
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	for range min(pipelines, len(chunks)) {
		go func() {
			for chunk := range todo {
				select {
				case done <- o.pipeline(inner, chunk, limit):
				case <-inner.Done():
					return
				}
			}
		}()
	}
	for range chunks {
		var p pipelined
		select {
		case p = <-done:
		case <-ctx.Done():
			p.err = ctx.Err()
		}
		if p.err != nil {
			return o.wrap(ctx, "get", fmt.Sprintf("%d objects", len(names)), p.err)
		}
		for i, name := range p.names {
			b, err := p.replies[i].Bytes()
			b, err = o.got(ctx, name, b, limit, err)
			got(name, b, err)
		}
	}
	return nil
}

// A pipelined is what a pipeline of GETRANGE has brought.
type pipelined struct {
	names   []string
	replies []*redis.StringCmd // for each name, unless err is set
	err     error              // of the connection
}

func (o *Objects) pipeline(ctx context.Context, names []string, limit int64) pipelined {
	p := pipelined{names: names, replies: make([]*redis.StringCmd, len(names))}
	pipe := o.client.Pipeline()
	for i, name := range names {
		p.replies[i] = pipe.GetRange(ctx, toKey(name), 0, limit+1)
	}
	if _, p.err = call(ctx, func() ([]redis.Cmder, error) { return pipe.Exec(ctx) }); p.err != nil && !isReply(p.err) {
		return p
	}
	p.err = nil
	for _, reply := range p.replies {
		if err := reply.Err(); err != nil && !isReply(err) {
			p.err = err
		}
	}
	return p
}

// Put writes an object of Options.MaxSize bytes at most.
func (o *Objects) Put(ctx context.Context, name string, b []byte, replace bool) error {
	if int64(len(b)) > o.maxSize {
		return fmt.Errorf("put %s: %d bytes: %w", name, len(b), remote.ErrTooLarge)
	}
	args := redis.SetArgs{TTL: o.ttl}
	if !replace {
		args.Mode = "NX"
	}
	value := toValue(b)
	_, err := call(ctx, func() (string, error) { return o.client.SetArgs(ctx, toKey(name), value, args).Result() })
	if errors.Is(err, redis.Nil) {
		return remote.ErrExists
	}
	return o.wrap(ctx, "put", name, err)
}

// Delete removes an object.
func (o *Objects) Delete(ctx context.Context, name string) error {
	_, err := call(ctx, func() (int64, error) { return o.client.Del(ctx, toKey(name)).Result() })
	return o.wrap(ctx, "delete", name, err)
}

// List yields the objects of a prefix. Redis does not tell when they were written.
func (o *Objects) List(ctx context.Context, namePrefix string) iter.Seq2[remote.Object, error] {
	return func(yield func(remote.Object, error) bool) {
		nodes, err := o.nodes(ctx)
		if err != nil {
			yield(remote.Object{}, o.wrap(ctx, "list", namePrefix, err))
			return
		}
		seen := make(map[string]struct{}) // SCAN may return a key twice
		for _, node := range nodes {
			for p := (page{}); ; {
				from := p.next
				p, err = call(ctx, func() (page, error) { return scan(ctx, node, from, namePrefix) })
				if err != nil {
					yield(remote.Object{}, o.wrap(ctx, "list", namePrefix, err))
					return
				}
				for _, object := range p.objects {
					if _, ok := seen[object.Name]; ok {
						continue
					}
					seen[object.Name] = struct{}{}
					if !yield(object, nil) {
						return
					}
				}
				if p.next == 0 {
					break
				}
			}
		}
	}
}

// nodes returns the servers that hold objects.
func (o *Objects) nodes(ctx context.Context) ([]redis.Cmdable, error) {
	cluster, ok := o.client.(*redis.ClusterClient)
	if !ok {
		return []redis.Cmdable{o.client}, nil
	}
	return call(ctx, func() (nodes []redis.Cmdable, err error) {
		var mu sync.Mutex
		err = cluster.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			nodes = append(nodes, c)
			return nil
		})
		return nodes, err
	})
}

// A page is a part of a node's list.
type page struct {
	objects []remote.Object
	next    uint64 // where to go on; 0: nowhere
}

func scan(ctx context.Context, node redis.Cmdable, cursor uint64, namePrefix string) (page, error) {
	keys, cursor, err := node.Scan(ctx, cursor, escapeGlob(toKey(namePrefix))+"*", 1000).Result()
	if err != nil || len(keys) == 0 {
		return page{next: cursor}, err
	}
	sizes, firsts := make([]*redis.IntCmd, len(keys)), make([]*redis.StringCmd, len(keys))
	pipe := node.Pipeline()
	for i, k := range keys {
		sizes[i], firsts[i] = pipe.StrLen(ctx, k), pipe.GetRange(ctx, k, 0, 0)
	}
	if _, err := pipe.Exec(ctx); err != nil && !isReply(err) {
		return page{}, err
	}
	p := page{next: cursor}
	for i, k := range keys {
		size, err := sizes[i].Result()
		switch {
		case err != nil && !isReply(err):
			return page{}, err
		case err != nil && !strings.HasPrefix(err.Error(), "WRONGTYPE"):
			return page{}, err
		case err != nil || size == 0:
			continue // not ours, or gone meanwhile
		}
		if first, _ := firsts[i].Bytes(); len(first) > 0 {
			size = objectSize(size, first[0])
		}
		p.objects = append(p.objects, remote.Object{Name: toName(k), Size: size})
	}
	return p, nil
}

// call runs f, but no longer than ctx: go-redis heeds a deadline while it reads or writes, but
// no cancellation. f may go on after call has returned.
func call[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	if err := ctx.Err(); err != nil {
		return result{}.value, err
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return result{}.value, ctx.Err()
	}
}

func toKey(name string) string { return prefix + strings.ReplaceAll(name, "/", ":") }

func toName(key string) string {
	return strings.ReplaceAll(strings.TrimPrefix(key, prefix), ":", "/")
}

var globs = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// escapeGlob returns a pattern of SCAN that matches s.
func escapeGlob(s string) string { return globs.Replace(s) }
