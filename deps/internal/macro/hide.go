package macro

import "slices"

// hide is a set of names, shared by tokens, and never changed.
type hide []string

func (h hide) has(name string) bool { return slices.Contains(h, name) }

// with returns the set with names that may be in it.
func (h hide) with(names ...string) hide {
	for _, name := range names {
		if !h.has(name) {
			h = append(slices.Clip(h), name)
		}
	}
	return h
}

// and returns what is in both.
func (h hide) and(other hide) hide {
	return slices.DeleteFunc(slices.Clone(h), func(name string) bool { return !other.has(name) })
}
