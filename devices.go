package kernstash

import (
	"context"
	"errors"
	"log/slog"

	"github.com/kernstash/kernstash/key"
)

// identity is what a device is, or why that cannot be told.
type identity struct {
	device key.Device
	err    error
}

// errDisabled is why no device is identified where the cache is off: to find out which compilers
// a driver has, and what is in them, takes half a second.
var errDisabled = errors.New("the cache is off")

func (x *Context[P, K]) identify() []identity {
	all := make([]identity, x.rt.Devices())
	for i := range all {
		if x.cache.settings.Disable {
			all[i].err = errDisabled
			continue
		}
		all[i].device, all[i].err = x.rt.Identify(context.Background(), i)
		if all[i].err != nil {
			x.cache.trace.warn("device cannot be identified, its programs are not cached",
				"device", i, "error", all[i].err.Error())
			continue
		}
		on(x.cache.trace.keys, func(l *slog.Logger) {
			l.Debug("device", "ordinal", i, "identity", all[i].device.String(), "digest", all[i].device.Digest().Dir())
		})
	}
	return all
}

// groups returns the devices of a set in groups of equal identity. A group
// holds all the context's devices of that identity, whether the set names them
// or not: they share what is built. A device that cannot be identified is a
// group of its own.
func (x *Context[P, K]) groups(set uint64) [][]int {
	ids := x.identities()
	byDigest := make(map[key.Digest][]int)
	digests := make([]key.Digest, len(ids))
	for d, id := range ids {
		if id.err == nil {
			digests[d] = id.device.Digest()
			byDigest[digests[d]] = append(byDigest[digests[d]], d)
		}
	}
	var groups [][]int
	seen := make(map[int]bool)
	for d, id := range ids {
		if set&(1<<d) == 0 {
			continue
		}
		g := []int{d}
		if id.err == nil {
			g = byDigest[digests[d]]
		}
		if !seen[g[0]] {
			seen[g[0]] = true
			groups = append(groups, g)
		}
	}
	return groups
}
