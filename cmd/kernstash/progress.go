package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress tells people what is going on, on standard error: one line that is
// written over on a terminal, a line for each step elsewhere. A nil progress
// is silent. It is safe for concurrent use.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	over  bool // write over the line before
	open  bool // a line is there to be written over
	width int
}

func (a *app) newProgress() *progress {
	p := &progress{w: a.err, width: 80}
	if f, ok := a.err.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		p.over = true
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 1 {
			p.width = width
		}
	}
	return p
}

func (p *progress) say(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	text := []rune(printable(fmt.Sprintf(format, args...), false))
	if !p.over {
		fmt.Fprintf(p.w, "%s\n", string(text))
		return
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", string(text[:min(len(text), p.width-1)]))
	p.open = true
}

// done removes the line that would be written over.
func (p *progress) done() {
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

// counting returns a function that says how many entries are done, now and
// then, and only where it can write over what it said before.
func (p *progress) counting(verb string) func(done int64) {
	const every = 200 * time.Millisecond
	last := time.Now()
	return func(done int64) {
		if !p.over || time.Since(last) < every {
			return
		}
		last = time.Now()
		p.say("%s %s", verb, plural(done, "entry"))
	}
}
