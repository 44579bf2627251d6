package engine

import (
	"sync"
	"time"
)

// busy shares time out among the builds of a process that are under way at once. Compilers that work one after the
// other, as PoCL's does behind a lock, let each build last as long as all of them; what builds cost adds up to the time in
// which the process built.
type busy struct {
	mu     sync.Mutex
	builds int           // under way
	shared time.Duration // what a build under way all along would have had of the time
	until  time.Time     // shared is up to date until then
}

// part is the part of one build.
type part struct {
	begun time.Time
	had   time.Duration // busy.shared then
}

func (b *busy) begin() *part {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.update()
	b.builds++
	return &part{now, b.shared}
}

// end returns what a build that took so long costs.
func (b *busy) end(p *part, took time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	lasted := b.update().Sub(p.begun)
	b.builds--
	if lasted <= 0 {
		return took
	}
	return time.Duration(float64(took) * (float64(b.shared-p.had) / float64(lasted)))
}

func (b *busy) update() (now time.Time) {
	now = time.Now()
	if b.builds > 0 {
		b.shared += now.Sub(b.until) / time.Duration(b.builds)
	}
	b.until = now
	return now
}
