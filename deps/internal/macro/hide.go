package macro

// hide is a set of names, shared by tokens.
type hide struct {
	name string
	more *hide
}

func (h *hide) has(name string) bool {
	for ; h != nil; h = h.more {
		if h.name == name {
			return true
		}
	}
	return false
}

func (h *hide) size() (n int) {
	for ; h != nil; h = h.more {
		n++
	}
	return n
}

func (h *hide) with(name string) *hide {
	if h.has(name) {
		return h
	}
	return &hide{name, h}
}

// and returns what is in both.
func (h *hide) and(other *hide) *hide {
	var both *hide
	for ; h != nil; h = h.more {
		if other.has(h.name) {
			both = both.with(h.name)
		}
	}
	return both
}

// union returns what is in one or the other.
func (h *hide) union(other *hide) *hide {
	for ; other != nil; other = other.more {
		h = h.with(other.name)
	}
	return h
}
