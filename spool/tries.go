package spool

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"slices"
	"time"
)

// Tries are what became of a job so far, in a file beside it: so a compiler that
// takes its worker down with it, each time, is not asked for ever.
type Tries struct {
	Begun  int `json:"begun"`  // times that a worker began it, where it could be done
	Failed int `json:"failed"` // times that its compiler crashed, or took too long

	Machines []machine `json:"missing,omitempty"` // that have not what it needs, the latest last
}

// machine is one on which a job could not be done.
type machine struct {
	ID     uint64 `json:"machine"`
	Minute int64  `json:"minute"` // since 1970
}

const (
	maxMachines = 16
	maxTries    = 4 << 10 // bytes
)

// Missing notes that the job cannot be done on a machine, for what is not there, and
// that the attempt is no fault of the job's.
func (t *Tries) Missing(name string, now time.Time) {
	id := idOf(name)
	t.Machines = slices.DeleteFunc(t.Machines, func(m machine) bool { return m.ID == id })
	t.Machines = append(t.Machines, machine{id, now.Unix() / 60})
	t.Machines = t.Machines[max(0, len(t.Machines)-maxMachines):]
	t.Begun = max(0, t.Begun-1)
}

// MissingSince says since when a machine is known not to have what the job needs.
func (t *Tries) MissingSince(name string) (since time.Time, is bool) {
	for _, m := range t.Machines {
		if m.ID == idOf(name) {
			return time.Unix(m.Minute*60, 0), true
		}
	}
	return time.Time{}, false
}

func idOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}

// ReadTries returns what became of a job so far.
func ReadTries(ctx context.Context, s Store, e *Entry) Tries {
	b, _, _ := s.SpoolRead(ctx, e.Environment, e.Name+"."+triesWord, maxTries)
	return parseTries(b)
}

func parseTries(b []byte) (t Tries) {
	if json.Unmarshal(b, &t) != nil || t.Begun < 0 || t.Failed < 0 {
		return Tries{}
	}
	return t
}

// WriteTries notes what became of a job. Only the one worker does.
func WriteTries(ctx context.Context, s Store, e *Entry, t Tries) error {
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return replace(ctx, s, e.Environment, e.Name+"."+triesWord, b)
}
