package engine

import (
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// Trace is what a decision depends on: what the host answered, and the files that were
// looked at.
type Trace struct {
	Devices     []int
	Device      key.Device
	Variables   []key.Pair
	Search      deps.Search // zero where no file is looked for
	Looks       []manifest.Look
	Key         key.Key
	Uncacheable reason.Uncacheable
}

// Trace returns what the decisions of the transaction depend on, by group.
func (t *Transaction) Trace() []Trace {
	all := make([]Trace, len(t.groups))
	for i, g := range t.groups {
		rec := g.job.Recipe
		all[i] = Trace{
			Devices: g.job.Devices, Device: rec.Device, Variables: rec.Options.Variables,
			Key: g.job.Key, Uncacheable: g.uncacheable,
		}
		if g.reading != nil {
			all[i].Search, all[i].Looks = g.reading.Search, g.reading.Looks()
		}
	}
	return all
}
