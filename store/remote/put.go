package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// Put stores an entry without the places in its recipe and without headers; see [store.Store]. What is there is
// looked at only where the engine says that something is. Of two puts of better artifacts at one time either may stay.
//
// An entry with a seal is put as the object that it came as; it is not where the list of trusted keys
// does not know who signed it, or has revoked that key. Without a key that signs, what is put is of no use to those who have a list of trusted keys, the
// store itself included, and it never replaces what is signed.
func (s *Store) Put(ctx context.Context, e *store.Entry) (store.PutResult, error) {
	res, written, err := s.put(ctx, e)
	switch res {
	case store.Stored, store.Bettered:
		s.opt.Recorder.Add(stats.RemotePuts, 1)
		s.opt.Recorder.Add(stats.RemoteBytesWritten, int64(written))
	case store.Existing:
		s.opt.Recorder.Add(stats.RemotePutsExisting, 1)
	default:
		s.opt.Recorder.Add(stats.RemotePutFailures, 1)
	}
	return res, err
}

func (s *Store) put(ctx context.Context, e *store.Entry) (res store.PutResult, written int, err error) {
	if err := cmp.Or(s.err, ctx.Err(), format.CheckEntry(e)); err != nil {
		return store.Failed, 0, err
	}
	b, err := s.encode(e)
	if err == nil {
		res, err = s.putObject(ctx, e, b)
	}
	if err != nil {
		return store.Failed, 0, fmt.Errorf("put %s: %w", e.Key.Short(), err)
	}
	return res, len(b), nil
}

// encode makes the object of an entry.
func (s *Store) encode(e *store.Entry) ([]byte, error) {
	if e.Seal != nil {
		if b, err := s.sealed(e); b != nil || err != nil {
			return b, err
		}
	}
	r, err := e.Recipe.WithoutPlaces()
	if err != nil {
		return nil, err
	}
	a := *e.Artifact
	if a.Created.IsZero() {
		a.Created = s.nowTime()
	}
	if a.Size() > s.opt.MaxSize {
		return nil, s.tooLarge(a.Size())
	}
	content, sum, err := pack(e.Key, &a, r)
	if err != nil {
		return nil, err
	}
	return s.seal(kindEntry, nameOf(e.Key), content, sum)
}

func (s *Store) seal(kind string, name, content []byte, sum key.Digest) ([]byte, error) {
	if int64(len(content)) > s.opt.MaxSize {
		return nil, s.tooLarge(int64(len(content)))
	}
	b := seal(head{
		tenant: s.opt.Tenant, kind: kind, name: name, decompressed: uint64(len(content)), content: sum, builder: s.opt.Builder, created: s.nowTime().UnixNano(),
	}, s.enc.EncodeAll(content, nil), s.opt.Sign)
	if int64(len(b)) > s.opt.MaxSize {
		return nil, s.tooLarge(int64(len(b)))
	}
	return b, nil
}

func (s *Store) tooLarge(n int64) error {
	return fmt.Errorf("%d bytes, the limit is %d: %w", n, s.opt.MaxSize, store.ErrTooLarge)
}

// tries bounds how often a put begins anew because what it saw had gone when it looked.
const tries = 3

func (s *Store) putObject(ctx context.Context, e *store.Entry, b []byte) (store.PutResult, error) {
	name := s.Name(e.Key)
	var err error
	for range tries {
		if err = s.write(ctx, name, b, false); err == nil {
			return store.Stored, nil
		}
		if !errors.Is(err, ErrExists) {
			return store.Failed, err
		}
		there, done, readErr := s.hold(ctx, name, true)
		defer done()
		if errors.Is(readErr, ErrNotFound) {
			continue
		}
		if readErr != nil {
			return store.Failed, readErr
		}
		replace, why := s.replaces(e, b, there)
		if why != nil {
			return store.Failed, why
		}
		if !replace {
			return store.Existing, nil
		}
		if err := s.write(ctx, name, b, true); err != nil {
			return store.Failed, err
		}
		return store.Bettered, nil
	}
	return store.Failed, err
}

// write puts an object into the engine. What is too large for the engine is too large for the store.
func (s *Store) write(ctx context.Context, name string, b []byte, replace bool) error {
	err := s.o.Put(ctx, name, b, replace)
	if errors.Is(err, ErrTooLarge) {
		err = fmt.Errorf("%w: %w", store.ErrTooLarge, err)
	}
	return err
}

var (
	errOtherVersion = fmt.Errorf("%w: it is of another version of kernstash", store.ErrStays)
	errSigned       = fmt.Errorf("%w: it is signed, and this is not", store.ErrStays)
)

// replaces reports whether an entry, as object b, takes the place of an object: that is damaged, nothing that this
// store could serve, or a worse entry. An error says why nothing may.
func (s *Store) replaces(e *store.Entry, b, there []byte) (bool, error) {
	old, o, err := s.open(there, e.Key, false)
	switch {
	case err == nil && !e.Artifact.Better(old.Artifact):
		return false, nil
	case err != nil && s.reasonOf(err) == reason.MissVersion:
		return false, errOtherVersion
	case o != nil && o.signer != nil && !s.believed(b) && o.check(s.opt.Tenant, kindEntry, nameOf(e.Key), nil, s.opt.MaxSize) == nil:
		return false, errSigned
	}
	return true, nil
}

// believed reports whether those who have this store's list of trusted keys can read an object of
// this store.
func (s *Store) believed(b []byte) bool {
	o, _, err := parseSealed(b)
	return err == nil && o.signer != nil && (!s.opt.Trust.IsSet() || s.opt.Trust.Check(o.signer) == nil)
}
