package remote

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/trust"
)

// DefaultMaxSize is [Options.MaxSize] where that is 0.
const DefaultMaxSize = 1 << 30

// Options are the settings of a Store. The zero value works.
type Options struct {
	// Tenant is part of the name and the signature of each object: a-z, 0-9, '.', '-' and '_', at
	// most 64, the first no '.'. "" is "default".
	Tenant string

	// Builder is who signs, for people, at most 256 bytes. It is in every object, so it holds no
	// name of a host unless the operator wants that.
	Builder string

	Sign  ed25519.PrivateKey // nil: what is put is not signed
	Trust *trust.List        // where it is not set, signatures are not asked for

	// MaxSize is the limit in bytes of an object, and of what it holds, decompressed. Larger ones
	// are neither put nor read. 0 is [DefaultMaxSize].
	MaxSize int64

	// Log gets one warning, of the first object that is not signed as the list of trusted keys asks. nil
	// takes none. How many there are is counted by who asks, as reason.MissUntrusted.
	Log *slog.Logger

	// Recorder takes RemotePuts, RemotePutsExisting, RemotePutFailures, RemoteBytesRead,
	// RemoteBytesWritten and Corrupt. Hits, misses and their reasons, errors and times are counted by
	// who asks, as only that knows what became of an answer. nil takes none.
	Recorder stats.Recorder
}

// Store keeps entries as objects of an engine. It is a [store.Store], and [store.Blobs] of manifests. A
// method takes one call of the engine, Put and List more; none repeats one that failed, and deadlines
// are those of the contexts. It is safe for concurrent use. Make it with [New].
//
// What leaves the machine is what was compiled, its source and the options in its key; not the
// places where header files were, nor their contents.
type Store struct {
	o       Objects
	opt     Options
	err     error // of the options: every call fails with it
	z       *zstd.Decoder
	enc     *zstd.Encoder
	blobs   sizes
	seals   verified
	room    room
	warned  atomic.Bool
	nowTime func() time.Time
}

var (
	_ store.Store = (*Store)(nil)
	_ store.Blobs = (*Store)(nil)
)

// New returns a store over an engine, which stays the caller's to close. With options that cannot be
// used every call fails; see [Options.Check].
func New(o Objects, opt Options) *Store {
	opt.Tenant = cmp.Or(opt.Tenant, "default")
	opt.MaxSize = cmp.Or(opt.MaxSize, DefaultMaxSize)
	opt.Recorder = cmp.Or[stats.Recorder](opt.Recorder, stats.Noop{})
	s := &Store{o: o, opt: opt, err: opt.Check(), nowTime: time.Now, room: room{most: maxReading}}
	several := min(runtime.GOMAXPROCS(0), 4)
	var err error
	if s.z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(several), zstd.WithDecodeAllCapLimit(true)); err != nil {
		s.err = cmp.Or(s.err, err)
	}
	// The digest makes a checksum of zstd's own needless.
	s.enc, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(several), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	s.err = cmp.Or(s.err, err)
	return s
}

// Check says what is wrong with the options.
func (o Options) Check() error {
	for i, c := range o.Tenant {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && i > 0 {
			continue
		}
		return fmt.Errorf("tenant %+q: want a-z, 0-9, '.', '-' and '_', the first no '.'", o.Tenant)
	}
	switch {
	case len(o.Tenant) > 64:
		return fmt.Errorf("tenant %q: want at most 64 characters", o.Tenant)
	case len(o.Builder) > maxBuilder || !utf8.ValidString(o.Builder):
		return fmt.Errorf("builder %+q: want at most %d bytes of UTF-8", o.Builder, maxBuilder)
	case o.MaxSize < 0 || o.MaxSize > format.MaxSize:
		return fmt.Errorf("largest size %d: want 0 to %d", o.MaxSize, int64(format.MaxSize))
	case o.Sign != nil && len(o.Sign) != ed25519.PrivateKeySize:
		return errors.New("a key that signs is malformed")
	}
	return nil
}

// layout begins the names of objects. A change of what is in them, the formats of .bin and .src
// included, is a change of it: so two versions of kernstash share a remote.
const layout = "v1"

// Name returns the name of the object of k.
func (s *Store) Name(k key.Key) string {
	sum := k.Sum.String()
	return s.prefix() + sum[:2] + "/" + sum
}

// ManifestName returns the name of the object of a manifest.
func (s *Store) ManifestName(name key.Digest) string { return s.prefix() + "m/" + name.String() }

// LeaseName returns the name of the lease for one build of k.
func (s *Store) LeaseName(k key.Key) string { return "lease/" + s.opt.Tenant + "/" + k.Sum.String() }

func (s *Store) prefix() string { return layout + "/" + s.opt.Tenant + "/" }

// Get returns the entry of k; see [store.Store].
func (s *Store) Get(ctx context.Context, k key.Key) (*store.Entry, error) {
	return s.get(ctx, k, false)
}

// Fetch is Get for who puts the entry into another store: it has its recipe, and the seal of who
// signed it.
func (s *Store) Fetch(ctx context.Context, k key.Key) (*store.Entry, error) {
	return s.get(ctx, k, true)
}

func (s *Store) get(ctx context.Context, k key.Key, withRecipe bool) (*store.Entry, error) {
	b, done, err := s.hold(ctx, s.Name(k), false)
	defer done()
	var e *store.Entry
	if err == nil {
		e, _, err = s.open(b, k, withRecipe)
	}
	if err != nil {
		return nil, s.miss(err)
	}
	return e, nil
}

// readAtMost gets an object.
func (s *Store) readAtMost(ctx context.Context, name string, limit int64) ([]byte, error) {
	if err := cmp.Or(s.err, ctx.Err()); err != nil {
		return nil, err
	}
	b, err := s.o.Get(ctx, name, limit)
	s.opt.Recorder.Add(stats.RemoteBytesRead, int64(len(b)))
	return b, err
}

// open makes an entry of k of an object.
func (s *Store) open(b []byte, k key.Key, withRecipe bool) (*store.Entry, *object, error) {
	o, content, err := s.unseal(b, kindEntry, nameOf(k))
	if err != nil {
		return nil, o, err
	}
	e, err := unpack(content, k, withRecipe)
	if err == nil && withRecipe {
		e.Seal = o.seal(b)
	}
	return e, o, err
}

// unseal checks an object, and then decompresses it. The object is returned where it is one.
func (s *Store) unseal(b []byte, kind string, name []byte) (*object, []byte, error) {
	o, err := parse(b)
	if err != nil {
		return nil, nil, err
	}
	limit := s.opt.MaxSize
	if kind != kindEntry {
		limit = min(limit, maxManifest)
	}
	if err := o.check(s.opt.Tenant, kind, name, s.opt.Trust, limit); err != nil {
		s.warn("what a remote holds is not trusted", kind, name, err)
		return o, nil, err
	}
	content, err := o.decompress(s.z)
	return o, content, err
}

// warn tells of the first entry or manifest that is not trusted: somebody else may be writing there.
func (s *Store) warn(what, kind string, name []byte, err error) {
	if s.opt.Log != nil && s.reasonOf(err) == reason.MissUntrusted && s.warned.CompareAndSwap(false, true) {
		s.opt.Log.Warn(what, "tenant", s.opt.Tenant, kind, hex.EncodeToString(name[len(name)-32:]), "reason", err)
	}
}

// reasons are those of the errors of objects. Any other error is trouble with the remote.
var reasons = []struct {
	err    error
	reason reason.Reason
}{
	{trust.ErrUntrusted, reason.MissUntrusted},
	{ErrNotFound, reason.MissAbsent},
	{format.ErrTruncated, reason.MissTruncated},
	{format.ErrForeign, reason.MissForeign},
	{format.ErrVersion, reason.MissVersion},
	{format.ErrDigest, reason.MissDigest},
	{format.ErrMalformed, reason.MissDigest},
	{errTenant, reason.MissForeign},
	{errName, reason.MissCollision},
	{ErrTooLarge, reason.MissTruncated},
}

// reasonOf returns why an error is a miss. With a list of trusted keys, what was signed for another
// tenant or another name is as bad as what is not signed: somebody moved it.
func (s *Store) reasonOf(err error) reason.Reason {
	if (errors.Is(err, errTenant) || errors.Is(err, errName)) && s.opt.Trust.IsSet() {
		return reason.MissUntrusted
	}
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.reason
		}
	}
	return reason.MissRemote
}

func (s *Store) miss(err error) error {
	why := s.reasonOf(err)
	switch why {
	case reason.MissTruncated, reason.MissForeign, reason.MissDigest:
		if !errors.Is(err, ErrTooLarge) {
			s.opt.Recorder.Add(stats.Corrupt, 1)
		}
	}
	return &store.MissError{Reason: why, Cause: err}
}

// Delete removes the entry of k; see [store.Store].
func (s *Store) Delete(ctx context.Context, k key.Key) error {
	err := cmp.Or(s.err, ctx.Err())
	if err == nil {
		err = s.o.Delete(ctx, s.Name(k))
	}
	if err != nil {
		return fmt.Errorf("delete %s: %w", k.Short(), err)
	}
	return nil
}
