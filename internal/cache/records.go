package cache

import (
	"cmp"
	"errors"
	"time"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/records"
)

// record takes what became of a request to the records: in memory, whatever it was.
func (c *Cache) record(of *engine.Decision) {
	switch {
	case of.Origin == engine.Disk:
		c.records.Hit(&of.Key, time.Now(), of.Saved, of.Label)
	case of.Origin == engine.Memory, of.Observed != "": // of the same process, or it would have hit
	default:
		l := records.Line{
			At: time.Now(), Entry: records.EntryOf(of.Key), Cost: cmp.Or(of.Cost, of.Spent), Label: of.Label(),
			Device: of.Recipe.Device.String(), API: of.Recipe.Device.API, Reason: of.Reason, Nearest: of.Nearest,
		}
		if of.Err != nil { // which may have parts of the source
			l.Reason = "the compiler refused it"
		}
		c.records.Miss(l)
	}
}

// keepRecords appends what was recorded to the records on disk. last says that the cache is closed.
func (c *Cache) keepRecords(last bool) {
	b := c.records.Take(time.Now(), last)
	if b == nil {
		return
	}
	if err := c.recorded.AppendRecords(b); err != nil {
		c.log.Warn("records not kept", "error", err.Error())
		if !errors.Is(err, records.ErrTorn) {
			c.records.GiveBack(b)
		}
	}
}
