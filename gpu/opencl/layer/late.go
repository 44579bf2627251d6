package layer

import (
	"sync"
	"time"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

var startEnvironment = sync.OnceValue(inprocess.StartEnvironment)

// Compiles tells that the driver's compiler is about to be called, whether or not the layer
// was asked: what is in the environment now may hold for all that it compiles later.
func (*Layer) Compiles() {
	opencl.LookAtVariables(startEnvironment(), dl.Environ())
}

// CompiledLate tells that the driver has compiled a unit after all whose compilation had
// been found, and skipped; saved is what was counted as saved by that, and was not.
func (l *Layer) CompiledLate(took, saved time.Duration) {
	l.door.Cache.Count(stats.SavedTime, -int64(saved))
	compiledAnyway(l.door, key.Key{}, "a compiled unit", took, -saved)
}

// compiledAnyway counts and tells of what was found, and compiled nevertheless.
func compiledAnyway(door inprocess.Door, k key.Key, label string, took, saved time.Duration) {
	door.Cache.Count(stats.Builds, 1)
	door.Cache.Count(stats.BuildTime, int64(took))
	e := runlog.Event{
		Kind: runlog.Asked, Outcome: runlog.Compiled, Label: label, Reason: runlog.ReasonWanted, Spent: took, Saved: saved,
	}
	if !k.IsZero() {
		e.Key = k.Short()
	}
	door.Report(e)
	door.Counted()
}
