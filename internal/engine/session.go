package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
)

// SessionOptions configure a Session.
type SessionOptions struct {
	// OptionsAsGiven says that the settings that replace a request's options, or
	// add to them, do not count.
	OptionsAsGiven bool

	// Share says that equal requests of the process, of sessions that say so, share one
	// build: see [Memory]. It is for callers without programs in memory to share.
	Share bool

	// Decided is called with what became of each group, from any goroutine; may be
	// nil. It returns soon.
	Decided func(Decision)
}

// Session is the engine for one host: one GPU context. It is safe for concurrent use.
type Session struct {
	e       *Engine
	host    Host
	options SessionOptions

	identities func() []identity          // of the devices; asked once
	equals     func() [][]int             // for each device its group; worked out once
	scoped     atomic.Pointer[key.Digest] // see scope; nil: not asked for yet
}

// Session returns a session for a host. It asks the host nothing.
func (e *Engine) Session(h Host, o SessionOptions) *Session {
	s := &Session{e: e, host: h, options: o}
	s.identities = sync.OnceValue(s.identify)
	s.equals = sync.OnceValue(s.group)
	return s
}

// identity is what a device is, or why that cannot be told.
type identity struct {
	device key.Device
	digest key.Digest // of device
	err    error
}

// errDisabled is why no device is identified where the cache is off: to find out which
// compilers a driver has, and what is in them, takes half a second.
var errDisabled = errors.New("the cache is off")

func (s *Session) identify() []identity {
	all := make([]identity, s.host.Devices())
	for i := range all {
		if s.e.settings.Disable {
			all[i].err = errDisabled
			continue
		}
		device, err := s.host.Identify(context.Background(), i)
		all[i] = identity{device, device.Digest(), err}
		if err != nil {
			s.e.warn("device cannot be identified, its programs are not cached", "device", i, "error", err.Error())
			continue
		}
		s.e.log.Keys.Debug("device", "ordinal", i, "identity", device.String(), "digest", all[i].digest.Dir())
	}
	return all
}

// groups returns the devices of a set in groups of equal identity. A group holds all
// the host's devices of that identity, whether the set names them or not: they share
// what is built. A device that cannot be identified is a group of its own.
func (s *Session) groups(set uint64) (groups [][]int) {
	var seen uint64
	for d, g := range s.equals() {
		if first := uint64(1) << g[0]; set&(1<<d) != 0 && seen&first == 0 {
			seen |= first
			groups = append(groups, g)
		}
	}
	return groups
}

// group returns for each device the group that it is in.
func (s *Session) group() [][]int {
	ids := s.identities()
	of := make([][]int, len(ids))
	for d, id := range ids {
		for other, is := range ids {
			if other == d || id.err == nil && is.err == nil && is.digest == id.digest {
				of[d] = append(of[d], other)
			}
		}
	}
	return of
}

// Host is asked for everything that the engine does not find out by itself. It is
// asked lazily, by whoever calls the engine and on their goroutine. Methods are called
// by many goroutines at once.
type Host interface {
	// Devices returns the number of devices, at most 64.
	Devices() int

	// Identify returns what decides how a device compiles. It is asked once a
	// device; an error makes the programs of the device uncacheable.
	Identify(ctx context.Context, device int) (key.Device, error)

	// Variables returns the environment variables that the compiler of a device
	// obeys now. An error makes the build uncacheable.
	Variables(device int) ([]key.Pair, error)

	// CheckOptions returns an error where the words of compile options make what
	// the compiler of a device builds uncacheable.
	CheckOptions(device int, words []string) error

	// HeaderSearch returns where the compiler of a device looks for header files
	// while dir is the working directory. Its Dir need not be set. An error makes
	// requests that read header files uncacheable. Hosts that answer alike for the
	// zero Request answer alike for each.
	HeaderSearch(device int, dir string, r Request) (deps.Search, error)

	// WorkingDirectory returns the working directory.
	WorkingDirectory() (string, error)

	// DefaultArithmetic reports whether the processor computes as threads do from
	// their start: compilers fold constants in the mode of their caller.
	DefaultArithmetic() bool

	// Delivery tells when there is an artifact of a job.
	Delivery(job Job) Delivery
}

// Job is one build: for one device, or for several of equal identity.
type Job struct {
	Devices []int       // ordinals, at least one
	Recipe  *key.Recipe // what to build; not to be changed
	Key     key.Key     // of the recipe; zero where what is built is not to be stored
}

// Delivery says when there is an artifact of a build.
type Delivery uint8

// The deliveries.
const (
	AtBuild   Delivery = iota // as soon as it is built
	AtLaunch                  // once its code was launched; see Deferral
	Elsewhere                 // another process makes it
)
