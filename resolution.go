package kernstash

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/kernstash/kernstash/internal/live"
	"github.com/kernstash/kernstash/key"
)

// resolution is what one request for an image that reads header files was found
// to mean: which files, with which contents. It does not change, so neither
// does what the image means to those who hold it.
type resolution struct {
	scope key.Digest // of the context, see Context.scope
	of    live.ID    // of the request

	id      live.ID    // under which those find the program who read the same
	private live.ID    // under which this image has one to itself
	groups  []*tracked // for each group of equal devices

	alone atomic.Bool // private counts
	next  *resolution
}

// program returns the id of the program.
func (res *resolution) program() live.ID {
	if res.alone.Load() {
		return res.private
	}
	return res.id
}

// forget gives the contents of header files back; a build has taken them, or
// there was none.
func (res *resolution) forget() {
	for _, t := range res.groups {
		t.contents.Store(nil)
	}
}

// group returns what a group of devices reads, by its place among the groups of
// the request; nil for a request that reads nothing.
func (res *resolution) group(i int) *tracked {
	if res == nil {
		return nil
	}
	return res.groups[i]
}

// newResolution works out the ids.
func newResolution(scope key.Digest, of live.ID, groups []*tracked, image uint64) *resolution {
	res := &resolution{scope: scope, of: of, private: private(of, image), groups: groups}
	b := append([]byte("kernstash resolved request\x00"), of.What[:]...)
	for _, t := range groups {
		if !t.against.None() {
			res.alone.Store(true)
			continue
		}
		digest := t.image.Digest()
		b = append(b, digest[:]...)
		t.what = sha256.Sum256(append(append([]byte("kernstash resolved unit\x00"), of.What[:]...), digest[:]...))
	}
	res.id = live.ID{What: sha256.Sum256(b), Devices: of.Devices}
	return res
}

// resolutions are those of one image: a hash table of bounded size, as an image
// may be asked for with no end of options. What is forgotten is looked at anew.
// Reading takes no lock and does not allocate.
type resolutions struct {
	adding sync.Mutex
	first  [64]atomic.Pointer[resolution]
}

func (t *resolutions) bucket(of *live.ID) *atomic.Pointer[resolution] {
	return &t.first[(of.What[0]^byte(of.Devices))%byte(len(t.first))]
}

func (t *resolutions) load(scope *key.Digest, of *live.ID) *resolution {
	res := t.bucket(of).Load()
	for res != nil && (res.of != *of || res.scope != *scope) {
		res = res.next
	}
	return res
}

// maxChain is how many resolutions a bucket holds before it is emptied.
const maxChain = 8

// add adds a resolution; the caller holds adding.
func (t *resolutions) add(res *resolution) {
	bucket := t.bucket(&res.of)
	first, n := bucket.Load(), 0
	for r := first; r != nil; r = r.next {
		n++
	}
	if n < maxChain {
		res.next = first
	}
	bucket.Store(res)
}

// resolved returns what a request was found to mean; nil: it was not asked yet.
func (x *Context[P, K]) resolved(id *live.ID, m *Image) *resolution {
	scope := x.scoped.Load()
	if scope == nil {
		return nil
	}
	return m.files.resolutions.load(scope, id)
}

// scope tells contexts apart whose requests may mean different files. It asks
// the runtime.
func (x *Context[P, K]) scope() *key.Digest {
	if s := x.scoped.Load(); s != nil {
		return s
	}
	b := []byte("kernstash scope\x00")
	for d, id := range x.identities() {
		digest := id.device.Digest()
		b = append(b, digest[:]...)
		s, err := x.headerSearch(d, "/", Request{})
		b = fmt.Appendf(b, "%#v %v %v\n", s, err, id.err)
	}
	s := key.Digest(sha256.Sum256(b))
	x.scoped.Store(&s)
	return &s
}

// resolve finds what a request means, and remembers it with the image. The
// files are looked at in a goroutine: whoever gives up need not wait for a file
// system.
func (x *Context[P, K]) resolve(ctx context.Context, id live.ID, r Request) (*resolution, error) {
	type answer struct {
		res *resolution
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		if !x.tier.Enter() {
			answers <- answer{nil, ErrClosed}
			return
		}
		defer x.tier.Leave()
		a.err = guard(func() (err error) {
			a.res, err = x.resolveNow(id, r, false)
			return err
		})
		answers <- a
	}()
	select {
	case a := <-answers:
		return a.res, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// resolveNow is resolve in the caller's goroutine; known says that nothing is to be
// scanned: nil then where the manifests do not tell.
func (x *Context[P, K]) resolveNow(id live.ID, r Request, known bool) (*resolution, error) {
	scope, all := x.scope(), &r.Image.files.resolutions
	all.adding.Lock()
	defer all.adding.Unlock()
	if res := all.load(scope, &id); res != nil {
		return res, nil
	}
	var groups []*tracked
	for _, g := range x.groups(id.Devices) {
		t, err := x.track(g, r, known)
		if t == nil || err != nil {
			return nil, err
		}
		groups = append(groups, t)
	}
	res := newResolution(*scope, id, groups, r.Image.serial)
	all.add(res)
	return res, nil
}

// guard makes an error of a panic in f.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("runtime panicked: %v", v)
		}
	}()
	return f()
}
