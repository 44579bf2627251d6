package entries

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store"
)

// ListOptions are those of ls.
type ListOptions struct {
	Long bool
	Sort string // "": as they are found, or, of an application, the most valuable first
	App  string // whose entries; "": all
}

// recorded reports whether the records say what is listed, or in which order.
func (o *ListOptions) recorded() bool {
	return o.App != "" || o.Sort == string(ledger.Saved) || o.Sort == string(ledger.Hits)
}

// openBook opens the records where they are asked for, or shown.
func (w *entryWriter) openBook(ctx context.Context) (err error) {
	if !w.o.recorded() && !w.o.Long && !w.JSON {
		return nil
	}
	w.book, err = ledger.Open(ctx, w.Cache)
	if err != nil && !w.o.recorded() {
		fmt.Fprintf(w.Err, "kernstash: %v\n", err)
		err = nil
	}
	return err
}

// closeBook gives the records back, with what they need not have listed.
func (w *entryWriter) closeBook() {
	if w.book == nil {
		return
	}
	w.book.Close()
	if w.Settings.Mode != settings.ModeReadOnly {
		ledger.Mend(w.Disk, w.absent)
	}
}

// entries yields what is to be listed, in the order of the records where they say it.
func (w *entryWriter) entries(ctx context.Context) iter.Seq2[store.Info, error] {
	switch {
	case w.o.App != "":
		return w.at(ctx, func(f func(*ledger.Entry) bool) error { return w.book.OfApplication(w.o.App, f) })
	case w.o.recorded():
		return w.recordedFirst(ctx, ledger.Order(w.o.Sort))
	}
	return w.Disk.List(ctx)
}

// at yields the entries of the cache that each names, and notes which of them are absent.
func (w *entryWriter) at(ctx context.Context, each func(f func(*ledger.Entry) bool) error) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		var at records.Place
		var failed error
		places := func(yield func(records.Place) bool) {
			failed = each(func(e *ledger.Entry) bool {
				at = e.Key.Place
				return yield(at)
			})
		}
		for info, err := range w.Disk.ListAt(ctx, places) {
			if errors.Is(info.Bad, store.ErrNotFound) {
				w.absent = append(w.absent, at)
			} else if !yield(info, err) {
				return
			}
		}
		if failed != nil {
			yield(store.Info{}, failed)
		}
	}
}

// recordedFirst yields the entries that the records know, and then those that nobody has used since there are records.
func (w *entryWriter) recordedFirst(ctx context.Context, o ledger.Order) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		for info, err := range w.at(ctx, func(f func(*ledger.Entry) bool) error { return w.book.Each(o, f) }) {
			if !yield(info, err) || err != nil {
				return
			}
		}
		for info, err := range w.Disk.List(ctx) {
			if err == nil && !info.Key.IsZero() {
				if e := w.of(info); e != nil && e.Gone == 0 {
					continue
				}
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

// of returns what the records know of an entry; nil: nothing.
func (w *entryWriter) of(info store.Info) *ledger.Entry {
	if w.book == nil || info.Key.IsZero() {
		return nil
	}
	e, _ := w.book.Of(records.PlaceOf(info.Key)) // damage is told by what lists
	return e
}

// use returns what the application that is asked for, or else all, did with an entry.
func (w *entryWriter) use(e *ledger.Entry) ledger.Use {
	switch {
	case e == nil:
		return ledger.Use{}
	case w.o.App != "":
		return e.Apps[w.o.App]
	}
	return e.Total()
}

// order returns the order in which all entries have to be sorted; nil: they come in order.
func (w *entryWriter) order() func(store.Info) (int64, string) {
	switch {
	case w.o.App == "" && w.o.recorded():
		return nil
	case w.o.Sort == string(ledger.Saved):
		return func(info store.Info) (int64, string) { u := w.use(w.of(info)); return -u.Saved, "" }
	case w.o.Sort == string(ledger.Hits):
		return func(info store.Info) (int64, string) { return -w.use(w.of(info)).Hits, "" }
	}
	return sortings[w.o.Sort]
}
