package entries

import (
	"context"
	"fmt"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/spool"
)

// nothing says for people why no entry is listed.
func (w *entryWriter) nothing(ctx context.Context) string {
	switch {
	case w.o.Filter == Filter{App: w.o.App} && w.o.App != "" && w.book != nil:
		return w.nothingOf(ctx, w.o.App)
	case !w.o.All():
		return "no entry is one of those that are asked for"
	}
	text := "the cache is empty"
	if n := len(w.waiting(ctx)); n > 0 {
		text += "; " + waits(n)
	}
	return text
}

// nothingOf says why no entry is listed of an application.
func (w *entryWriter) nothingOf(ctx context.Context, app string) string {
	jobs, known, waiting := w.waiting(ctx), false, 0
	_ = w.book.OfApplication(app, func(e *ledger.Entry) bool { // what cannot be read stays unsaid
		known = true
		if jobs[e.Key.Key.Sum.Dir()] {
			waiting++
		}
		return ctx.Err() == nil
	})
	totals, _ := w.book.Totals()
	var others []string
	for _, t := range totals {
		known = known || t.App == app // also where nothing that it compiled can be cached
		if t.App != ledger.Others {
			others = append(others, t.App)
		}
	}
	name := human.Printable(app, false)
	switch {
	case known && waiting > 0:
		return fmt.Sprintf("nothing that %s used is in the cache yet; %s", name, waits(waiting))
	case known:
		return fmt.Sprintf("nothing that %s used is in the cache; 'kernstash why --app %[1]s' says what it compiled, and why", name)
	case len(others) > 0:
		return fmt.Sprintf("%s is not known to have used anything; known are %s", name, human.Printable(human.Names(others, 0), false))
	}
	return name + " is not known to have used anything, nor is any other application"
}

func waits(n int) string {
	verb := "waits"
	if n > 1 {
		verb = "wait"
	}
	return fmt.Sprintf("%s %s for a worker: 'kernstash worker wait'", human.Plural(n, "program"), verb)
}

// waiting returns the programs that a worker is to build, by the names of their keys.
func (w *entryWriter) waiting(ctx context.Context) map[string]bool {
	jobs, _ := spool.List(ctx, w.Disk) // what cannot be read stays unsaid
	all := make(map[string]bool)
	for _, j := range jobs {
		if of, _, _ := strings.Cut(j.Name, "."); j.Kind() != spool.Upload {
			all[of] = true
		}
	}
	return all
}
