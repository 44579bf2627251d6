package engine

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kernstash/kernstash/internal/engine/headers"
	"github.com/kernstash/kernstash/key"
)

// Resolution is what one request for an image that reads header files was found to
// mean: which files, with which contents. It does not change, so neither does what the
// image means to those who hold it.
type Resolution struct {
	scope key.Digest // of the session, see Session.scope
	of    ID         // of the request

	id        ID             // under which those find the program who read the same
	exclusive ID             // under which this image has one to itself
	groups    []*headers.Set // for each group of equal devices

	alone atomic.Bool // exclusive counts
	next  *Resolution
}

// ID returns the identity of the program.
func (res *Resolution) ID() ID {
	if res.alone.Load() {
		return res.exclusive
	}
	return res.id
}

// MakeExclusive gives the image a program to itself, and returns its identity.
func (res *Resolution) MakeExclusive() ID {
	res.alone.Store(true)
	return res.exclusive
}

// Forget gives the contents of header files back that no build has taken.
func (res *Resolution) Forget() {
	for _, r := range res.groups {
		r.Take()
	}
}

// Holds reports whether contents of header files are in memory for it.
func (res *Resolution) Holds() bool {
	return slices.ContainsFunc(res.groups, func(r *headers.Set) bool { return r.Holds() })
}

// group returns what a group of devices reads, by its place among the groups of the
// request; nil for a request that reads nothing.
func (res *Resolution) group(i int) *headers.Set {
	if res == nil {
		return nil
	}
	return res.groups[i]
}

func newResolution(scope key.Digest, of ID, groups []*headers.Set, image *Image) *Resolution {
	res := &Resolution{scope: scope, of: of, exclusive: of.Exclusive(image), groups: groups}
	b := append([]byte("kernstash resolved request\x00"), of.What[:]...)
	for _, r := range groups {
		if !r.Uncacheable.None() {
			res.alone.Store(true)
			continue
		}
		digest := r.Image.Digest()
		b = append(b, digest[:]...)
		b = append(b, r.Times...)
		r.What = sha256.Sum256(slices.Concat([]byte("kernstash resolved unit\x00"), of.What[:], digest[:], []byte(r.Times)))
	}
	res.id = ID{sha256.Sum256(b), of.Devices}
	return res
}

// resolutions are those of one image: a hash table of bounded size, as an image may be
// asked for with no end of options. What is forgotten is looked at anew. Reading takes
// no lock and does not allocate.
type resolutions struct {
	adding sync.Mutex
	first  [64]atomic.Pointer[Resolution]
}

func (t *resolutions) bucket(of *ID) *atomic.Pointer[Resolution] {
	return &t.first[(of.What[0]^byte(of.Devices))%byte(len(t.first))]
}

func (t *resolutions) load(scope *key.Digest, of *ID) *Resolution {
	res := t.bucket(of).Load()
	for res != nil && (res.of != *of || res.scope != *scope) {
		res = res.next
	}
	return res
}

// maxChain is how many resolutions a bucket holds before it is emptied.
const maxChain = 8

// add adds a resolution; the caller holds adding.
func (t *resolutions) add(res *Resolution) {
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

// Resolved returns what a request with this id was found to mean; nil: it was not asked
// yet. The image reads files. It asks the host nothing, takes no lock and does not
// allocate.
func (s *Session) Resolved(id *ID, m *Image) *Resolution {
	scope := s.scoped.Load()
	if scope == nil {
		return nil
	}
	return m.files.resolutions.load(scope, id)
}

// Resolve finds what a request with this id means, and remembers it with the image. The
// image reads files; they are looked at, which may take as long as a file system takes
// to answer.
func (s *Session) Resolve(id ID, r Request) (*Resolution, error) {
	res, _, err := s.resolve(id, r, true)
	return res, err
}

// resolve is Resolve; without scan it is told by manifests alone: nil where they do not tell.
// meanings are those of the groups, but for the header files, where they had to be worked out.
func (s *Session) resolve(id ID, r Request, scan bool) (res *Resolution, meanings []meaning, err error) {
	scope, all := s.scope(), &r.Image.files.resolutions
	all.adding.Lock()
	defer all.adding.Unlock()
	if res := all.load(scope, &id); res != nil {
		return res, nil, nil
	}
	var groups []*headers.Set
	for _, g := range s.groups(id.Devices) {
		m, err := s.mean(g, r)
		if err != nil {
			return nil, nil, err
		}
		read := s.read(g, r, m, scan)
		if read == nil {
			return nil, nil, nil
		}
		groups, meanings = append(groups, read), append(meanings, m)
	}
	res = newResolution(*scope, id, groups, r.Image)
	all.add(res)
	return res, meanings, nil
}

// scope tells sessions apart whose requests may mean different files.
func (s *Session) scope() *key.Digest {
	if scope := s.scoped.Load(); scope != nil {
		return scope
	}
	b := []byte("kernstash scope\x00")
	for d, id := range s.identities() {
		b = append(b, id.digest[:]...)
		search, err := s.headerSearch(d, "/", Request{})
		b = fmt.Appendf(b, "%#v %v %v\n", search, err, id.err)
	}
	scope := key.Digest(sha256.Sum256(b))
	s.scoped.Store(&scope)
	return &scope
}
