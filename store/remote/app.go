package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/wire"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// What an application is known to use stands in two objects: a list, signed as entries are, and, for
// engines that get objects one by one, a pack. In a pack the objects that the list names stand one
// after the other, each as it is by itself: the pack need not be trusted. docs/FORMAT.md has every byte.
const (
	packMagic   = "kstpck\r\n"
	packVersion = 1
	packHead    = len(packMagic) + 4

	// MaxPack bounds a pack. What finds no room in it is got by itself.
	MaxPack = 64 << 20

	maxAppName = 256
)

// CheckApp says why an application cannot have a name.
func CheckApp(name string) error {
	if len(name) == 0 || len(name) > maxAppName {
		return fmt.Errorf("the name of an application has %d bytes: want 1 to %d", len(name), maxAppName)
	}
	return nil
}

// AppName returns the name of the object that lists what an application uses.
func (s *Store) AppName(app string) string { return s.prefix() + "a/" + sumOfApp(app).String() }

// PackName returns the name of an application's pack.
func (s *Store) PackName(app string) string { return s.prefix() + "p/" + sumOfApp(app).String() }

func sumOfApp(app string) key.Digest { return sha256.Sum256([]byte(app)) }

// App returns what an application is known to use, as PutApp has put it. Whatever prevents this is a
// *store.MissError.
func (s *Store) App(ctx context.Context, app string) (*store.App, error) {
	b, err := s.readAtMost(ctx, s.AppName(app), maxHead+maxManifest)
	sum := sumOfApp(app)
	var list *store.App
	if err == nil {
		_, b, err = s.unseal(b, kindApp, sum[:])
	}
	if err == nil {
		list, err = parseApp(b, app)
	}
	if err != nil {
		return nil, s.miss(err)
	}
	return list, nil
}

// keyBytes is the length of a key in a list: its sum follows from the rest.
const keyBytes = 4 * sha256.Size

// encodeApp is the content of a list.
func encodeApp(app string, list *store.App) []byte {
	b := wire.AppendText(nil, app)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(list.Keys)))
	for _, k := range list.Keys {
		b = append(b, bytes.Join([][]byte{k.Device[:], k.Image[:], k.Constants[:], k.Options[:]}, nil)...)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(list.Manifests)))
	for _, m := range list.Manifests {
		b = append(b, m[:]...)
	}
	return b
}

func parseApp(b []byte, app string) (*store.App, error) {
	r := wire.NewReader(b)
	if name := r.Text(); name != app {
		r.Fail("the list of another application")
	}
	list := new(store.App)
	for range r.Count(uint64(r.U32()), keyBytes) {
		device, image, constants, options := r.Digest(), r.Digest(), r.Digest(), r.Digest()
		list.Keys = append(list.Keys, key.New(device, image, constants, options))
	}
	for range r.Count(uint64(r.U32()), sha256.Size) {
		list.Manifests = append(list.Manifests, r.Digest())
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("%w: %w", format.ErrMalformed, err)
	}
	return list, nil
}

// GetApp gets what is wanted of a list, in one go: it calls got for each key with what [Store.Fetch] would
// return, and manifest for each name with what [Store.FetchBlob] would, one call at a time. It returns when
// it has called one of them for all. most says that most of the list is wanted: then its pack is read.
func (s *Store) GetApp(
	ctx context.Context, app string, wanted *store.App, most bool,
	got func(key.Key, *store.Entry, error), manifest func(name key.Digest, content, seal []byte, err error),
) {
	var packed map[string][]byte
	if _, many := s.o.(ManyGetter); !many && most && len(wanted.Keys)+len(wanted.Manifests) > inFlight {
		packed = s.readPack(ctx, app)
	}
	var keys []key.Key
	for _, k := range wanted.Keys {
		if b := packed[s.Name(k)]; b != nil && ctx.Err() == nil {
			e, _, err := s.open(b, k, true)
			if err == nil {
				got(k, e, nil)
				continue
			}
			s.badPacked(s.miss(err))
		}
		keys = append(keys, k)
	}
	var names []string
	of := make(map[string]key.Digest)
	for _, m := range wanted.Manifests {
		name := s.ManifestName(m)
		if b := packed[name]; b != nil && ctx.Err() == nil {
			content, seal, err := s.openManifest(b, m, nil)
			if err == nil {
				manifest(m, content, seal, nil)
				continue
			}
			s.badPacked(err)
		}
		if _, twice := of[name]; !twice {
			names, of[name] = append(names, name), m
		}
	}
	packed = nil // it may be large
	s.GetMany(ctx, keys, got)
	s.readMany(ctx, names, func(name string, b []byte, err error) {
		content, seal, err := s.openManifest(b, of[name], err)
		manifest(of[name], content, seal, err)
	})
}

// badPacked counts an object of a pack that nobody has signed who is trusted, as nobody asks for it: what
// it should be is got by itself.
func (s *Store) badPacked(err error) {
	if reasonOfMiss(err) == reason.MissUntrusted {
		s.opt.Recorder.Add(stats.Of(reason.MissUntrusted), 1)
	}
}

func reasonOfMiss(err error) reason.Reason {
	if miss, ok := errors.AsType[*store.MissError](err); ok {
		return miss.Reason
	}
	return 0
}

// readPack returns the objects of a pack by the names that their heads say, which nobody has checked. Where
// there is none, or it ends too early, there are fewer.
func (s *Store) readPack(ctx context.Context, app string) map[string][]byte {
	b, err := s.readAtMost(ctx, s.PackName(app), min(s.opt.MaxSize, MaxPack))
	if err != nil {
		return nil
	}
	packed := make(map[string][]byte)
	for o := range unpackObjects(b) {
		head, err := parse(o)
		switch {
		case err != nil:
		case head.kind == kindEntry:
			packed[s.Name(head.key())] = o
		case head.kind == kindManifest:
			packed[s.ManifestName(key.Digest(head.name))] = o
		}
	}
	return packed
}

// unpackObjects yields the objects of a pack, up to where it is no pack any more.
func unpackObjects(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		r := wire.NewReader(b)
		if string(r.Take(uint64(len(packMagic)))) != packMagic || r.U32() != packVersion {
			return
		}
		for {
			o := r.Take(uint64(r.U32()))
			if r.Err() != nil || !yield(o) {
				return
			}
		}
	}
}

func newPack() []byte { return binary.LittleEndian.AppendUint32([]byte(packMagic), packVersion) }

// AppPut says what came of PutApp: numbers of entries, but for Manifests and Packed.
type AppPut struct {
	Listed    int
	Absent    int   // not in the remote
	Bad       int   // in the remote, and nothing that this store could serve
	Manifests int   // that are listed
	Packed    int64 // bytes of the pack; 0: there is none
}

// PutApp writes what an application is known to use, in the place of what is said of it: of the entries,
// by the sums of their keys, and of the manifests those that the remote has. All of them are read.
func (s *Store) PutApp(ctx context.Context, app string, sums, manifests []key.Digest) (put AppPut, err error) {
	if err := cmp.Or(s.err, ctx.Err(), CheckApp(app)); err != nil {
		return put, err
	}
	if err := s.mayList(ctx, app); err != nil {
		return put, fmt.Errorf("put the list of %q: %w", app, err)
	}
	list, pack := new(store.App), newPack()
	limit := int(min(s.opt.MaxSize, MaxPack))
	kept := 0 // of what is to be packed
	keep := func(b []byte) []byte {
		if len(pack)+kept+4+len(b) > limit {
			return nil
		}
		kept += 4 + len(b)
		return b
	}
	add := func(b []byte) {
		if b != nil {
			pack = append(binary.LittleEndian.AppendUint32(pack, uint32(len(b))), b...)
			kept -= 4 + len(b)
		}
	}
	for few := range slices.Chunk(unique(manifests), inFlight) {
		open := func(sum key.Digest, b []byte, err error) (o anObject) {
			if _, _, o.err = s.openManifest(b, sum, err); o.err == nil {
				o.b = keep(b)
			}
			return o
		}
		for i, o := range s.readAll(ctx, few, s.ManifestName, open) {
			if o.err != nil {
				continue
			}
			list.Manifests = append(list.Manifests, few[i])
			add(o.b)
		}
	}
	for few := range slices.Chunk(unique(sums), inFlight) {
		open := func(sum key.Digest, b []byte, err error) (o anObject) {
			var e *store.Entry
			if e, o.err = s.openSum(b, sum, err); o.err == nil {
				o.key, o.b = e.Key, keep(b)
			}
			return o
		}
		for _, o := range s.readAll(ctx, few, func(sum key.Digest) string { return s.Name(key.Key{Sum: sum}) }, open) {
			switch {
			case o.err == nil:
				list.Keys = append(list.Keys, o.key)
				add(o.b)
			case errors.Is(o.err, ErrNotFound):
				put.Absent++
			case reasonOfMiss(o.err) == reason.MissRemote:
				return put, fmt.Errorf("put the list of %q: %w", app, o.err)
			default:
				put.Bad++
			}
		}
	}
	put.Listed, put.Manifests = len(list.Keys), len(list.Manifests)
	content, sum := encodeApp(app, list), sumOfApp(app)
	if len(content) > maxManifest {
		return put, fmt.Errorf("put the list of %q: %d entries: %w", app, len(list.Keys), store.ErrTooLarge)
	}
	b, err := s.seal(kindApp, sum[:], content, sha256.Sum256(content))
	if _, many := s.o.(ManyGetter); err == nil && !many && put.Listed+put.Manifests > inFlight {
		// The pack first: a list without it is good, too.
		switch packErr := s.o.Put(ctx, s.PackName(app), pack, true); {
		case packErr == nil:
			put.Packed = int64(len(pack))
		case !errors.Is(packErr, ErrTooLarge):
			err = packErr
		}
	}
	if err = cmp.Or(err, ctx.Err()); err == nil {
		err = s.o.Put(ctx, s.AppName(app), b, true)
	}
	if err != nil {
		return put, fmt.Errorf("put the list of %q: %w", app, err)
	}
	return put, nil
}

// mayList reports whether the list of an application may be replaced: what is unsigned replaces nothing
// that is signed.
func (s *Store) mayList(ctx context.Context, app string) error {
	if s.Signs() {
		return nil
	}
	b, err := s.readAtMost(ctx, s.AppName(app), maxHead+maxManifest)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrTooLarge):
		return nil
	case err != nil:
		return err
	}
	sum := sumOfApp(app)
	if o, err := parse(b); err == nil && o.signer != nil && o.check(s.opt.Tenant, kindApp, sum[:], nil, maxManifest) == nil {
		return errSigned
	}
	return nil
}

func unique(all []key.Digest) (once []key.Digest) {
	seen := make(map[key.Digest]bool, len(all))
	for _, d := range all {
		if !seen[d] {
			seen[d] = true
			once = append(once, d)
		}
	}
	return once
}

// anObject is one that was got and checked, or why it was not.
type anObject struct {
	key key.Key // of an entry
	b   []byte  // nil: it is not to be packed
	err error
}

// readAll gets objects, and returns what open says of each, in the order of their sums.
func (s *Store) readAll(
	ctx context.Context, sums []key.Digest, name func(key.Digest) string, open func(sum key.Digest, b []byte, err error) anObject,
) []anObject {
	all, at := make([]anObject, len(sums)), make(map[string]int, len(sums))
	names := make([]string, len(sums))
	for i, sum := range sums {
		names[i] = name(sum)
		at[names[i]] = i
	}
	s.readMany(ctx, names, func(name string, b []byte, err error) { all[at[name]] = open(sums[at[name]], b, err) })
	return all
}
