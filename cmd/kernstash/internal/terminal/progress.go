package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/human"
)

// Progress tells people what is going on, on standard error: one line that is
// written over on a terminal, a line for each step elsewhere, unless it is the
// same as the one before. A nil progress is silent. It is safe for concurrent use.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer
	over  bool // write over the line before
	open  bool // a line is there to be written over
	last  string
	width int
}

// NewProgress returns a progress that writes to w.
func NewProgress(w io.Writer) *Progress {
	return &Progress{w: w, over: IsTerminal(w) && os.Getenv("TERM") != "dumb", width: Of(w).Width}
}

// Say says what is going on.
func (p *Progress) Say(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	text := []rune(human.Printable(fmt.Sprintf(format, args...), false))
	if !p.over {
		if line := string(text); line != p.last {
			p.last = line
			fmt.Fprintf(p.w, "%s\n", line)
		}
		return
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", string(text[:min(len(text), p.width-1)]))
	p.open = true
}

// Done removes the line that would be written over.
func (p *Progress) Done() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.open = false
	}
}

// Counting returns a function that says how many entries are done, of about
// total, if that is known, and how fast: now and then, and only where it can
// write over what it said before.
func (p *Progress) Counting(verb string, total int64) func(done int64) {
	const every = 200 * time.Millisecond
	start := time.Now()
	last := start
	return func(done int64) {
		now := time.Now()
		if !p.over || now.Sub(last) < every {
			return
		}
		last = now
		p.Say("%s", counted(verb, done, total, now.Sub(start)))
	}
}

// counted says how far something is.
func counted(verb string, done, total int64, took time.Duration) string {
	text := verb + " " + human.Plural(done, "entry")
	if total > 0 {
		text += fmt.Sprintf(" of about %d, %d %%", max(total, done), min(100*done/total, 100))
	}
	if took > 0 {
		text += fmt.Sprintf(", %.0f a second", float64(done)/took.Seconds())
	}
	return text
}
