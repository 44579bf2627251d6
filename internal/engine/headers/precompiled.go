package headers

import (
	"sync"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/store"
)

// Precompiled are the files that compilers of this process keep header files in. A compiler
// believes such a file by the times of the header files, to the second; here it is believed if none
// of them has changed since it was made.
type Precompiled struct {
	mu    sync.Mutex
	files map[string]precompiled
}

// precompiled is one of them.
type precompiled struct {
	stamp deps.Stamp
	of    *Set // of the program that it was made with
}

// maxPrecompiled bounds how many are remembered.
const maxPrecompiled = 64

// Unfit says why what was built with precompiled header files may be of others than it is
// stored under; "" where it is not. set is what it was found to read, and has not changed.
func (p *Precompiled) Unfit(set *Set, a *store.Artifact) string {
	if a == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, path := range a.Precompiled.Used {
		f, known := p.files[path]
		if now, there := deps.StampOf(path); !known || !there || now != f.stamp {
			return "precompiled header file " + path + ": what it is made of is not known"
		}
		if changed := f.of.Changed(); changed != "" {
			return "precompiled header file " + path + ": " + changed + " is not what it was"
		}
	}
	for _, path := range a.Precompiled.Made {
		delete(p.files, path)
		if stamp, there := deps.StampOf(path); there && set.Follows() && len(p.files) < maxPrecompiled {
			if p.files == nil {
				p.files = make(map[string]precompiled)
			}
			p.files[path] = precompiled{stamp, set}
		}
	}
	return ""
}
