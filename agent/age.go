package agent

import (
	"time"

	"github.com/kernstash/kernstash/store/disk"
)

// A node cache is looked through a while after the agent started, and then once a day.
const (
	ageAfter = 10 * time.Minute
	ageEvery = 24 * time.Hour
)

// age removes what nobody has used for long, and what nobody needs, until the server ends: the evictor sees to the limit
// alone, and a node cache has no worker.
func (s *Server) age(t *tenant) {
	defer s.answers.Done()
	for wait := s.o.limits.age; ; wait = ageEvery {
		select {
		case <-time.After(wait):
		case <-s.stop.Done():
			return
		}
		r, err := t.near.GC(s.stop, disk.GCOptions{MaxAge: s.o.MaxAge}, nil)
		switch {
		case s.stop.Err() != nil:
			return
		case err != nil:
			s.o.Log.Warn("node cache not looked through", "tenant", t.Name, "error", err.Error())
		default:
			s.o.Log.Info("old entries removed", "tenant", t.Name, "entries", r.Removed, "of", r.Entries, "manifests", r.Manifests, "bytes", r.RemovedBytes)
		}
	}
}
