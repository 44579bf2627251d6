package layer

import (
	"time"

	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

// compiledLate counts that the driver has compiled a unit after all whose compilation had
// been found, and skipped; saved is what was counted as saved by that, and was not.
func (l *Layer) compiledLate(took, saved time.Duration) {
	l.Cache.Count(stats.SavedTime, -int64(saved))
	compiledAnyway(l.FrontEnd, key.Key{}, "a compiled unit", took, -saved)
}

// compiledAnyway counts and tells of what was found, and compiled nevertheless.
func compiledAnyway(frontEnd inprocess.FrontEnd, k key.Key, label string, took, saved time.Duration) {
	frontEnd.Cache.Count(stats.Builds, 1)
	frontEnd.Cache.Count(stats.BuildTime, int64(took))
	e := runlog.Event{
		Kind: runlog.Asked, Outcome: runlog.Compiled, Label: label, Reason: runlog.ReasonWanted, Spent: took, Saved: saved,
	}
	if !k.IsZero() {
		e.Key = k.Short()
	}
	frontEnd.Report(e)
	frontEnd.Counted()
}
