package layer

import (
	"time"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

// compiledAnyway counts and tells of what was found, and compiled nevertheless.
func (l *Layer) compiledAnyway(k key.Key, label string, took, saved time.Duration) {
	l.Cache.Count(stats.Builds, 1)
	l.Cache.Count(stats.BuildTime, int64(took))
	l.Reporter.Decided(engine.Decision{
		Key: k, Origin: engine.Compiled, Reason: runlog.ReasonWanted, Spent: took, Saved: saved,
	}, label)
	l.Counted()
}
