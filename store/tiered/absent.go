package tiered

import (
	"sync"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// maxAbsent bounds what is remembered.
const maxAbsent = 4096

// absent remembers, for seconds, what a tier does not have. Longer would make people build what
// others have stored meanwhile. It is safe for concurrent use.
type absent struct {
	lasts time.Duration

	mu  sync.Mutex
	all map[question]time.Time // when it is forgotten
}

// question is what a tier was asked for.
type question struct {
	tier int
	kind store.Kind // "" of entries
	sum  key.Digest
}

func (a *absent) add(q question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if len(a.all) >= maxAbsent {
		a.makeRoom(now)
	}
	if a.all == nil {
		a.all = make(map[question]time.Time)
	}
	a.all[q] = now.Add(a.lasts)
}

// makeRoom forgets what has run out, and some more if that is little. a.mu is held.
func (a *absent) makeRoom(now time.Time) {
	for q, end := range a.all {
		if now.After(end) {
			delete(a.all, q)
		}
	}
	for q := range a.all {
		if len(a.all) <= maxAbsent/2 {
			break
		}
		delete(a.all, q)
	}
}

func (a *absent) has(q question) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	end, ok := a.all[q]
	return ok && time.Now().Before(end)
}

func (a *absent) forget(q question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.all, q)
}

func (a *absent) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.all)
}
