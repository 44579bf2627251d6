package deps

import (
	"strings"
	"sync"
)

// words is a list that is split when it is first needed: a process that knows its programs
// needs few of them. It lies in memory as it was linked.
type words struct {
	list string
	once sync.Once
	all  []string
}

// get returns the list's words, which are the caller's to read.
func (w *words) get() []string {
	w.once.Do(func() { w.all = strings.Fields(w.list) })
	return w.all
}
