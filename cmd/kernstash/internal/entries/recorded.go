package entries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/catalog"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store"
)

// ListOptions are those of ls.
type ListOptions struct {
	Filter
	Long, Tree bool
	Sort       string // "": time saved, or of one application the most valuable first; as found where no time was saved
}

// recorded reports whether the records say what is listed, or in which order, whatever they hold.
func (o *ListOptions) recorded() bool {
	return o.App != "" || o.Sort == string(ledger.Saved) || o.Sort == string(ledger.Hits)
}

// unordered is an order that takes no look at the records, for who needs none.
const unordered = "name"

// openBook opens the records, and decides whether they say in which order entries come.
func (w *entryWriter) openBook(ctx context.Context) (err error) {
	w.byRecords = w.o.recorded()
	if w.book, err = ledger.Open(ctx, w.Cache); err != nil && !w.byRecords {
		fmt.Fprintf(w.Err, "kernstash: %v\n", err)
		err = nil
	}
	if err != nil || w.book == nil || w.o.Sort != "" || w.byRecords {
		return err
	}
	return w.book.Each(ledger.Saved, func(e *ledger.Entry) bool { // damage is found here, and the next one begins anew
		u := e.Total()
		w.byRecords = u.Saved > 0
		return false
	})
}

// catalogOrders are the orders that the catalog of a large cache has.
var catalogOrders = map[string]catalog.Order{"size": catalog.Size, "cost": catalog.Cost, "used": catalog.Used, "age": catalog.Age}

// openCatalog opens the catalog where it says what comes next. For what comes behind the recorded entries it is not made.
func (w *entryWriter) openCatalog(ctx context.Context) (err error) {
	_, has := catalogOrders[w.o.Sort]
	if w.o.App != "" || !has && !w.o.recorded() && w.o.Sort != "" {
		return nil
	}
	if w.catalog, err = catalog.Open(ctx, w.Cache, has); err != nil && ctx.Err() == nil {
		fmt.Fprintf(w.Err, "kernstash: %s\n", human.Printable(err.Error(), false)) // all entries are read then
		err = nil
	}
	return err
}

// closeBook gives the records back, with what they need not have listed.
func (w *entryWriter) closeBook() {
	if w.catalog != nil {
		w.catalog.Close()
	}
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
	all := w.Disk.List(ctx)
	switch o := ledger.Order(cmp.Or(w.o.Sort, string(ledger.Saved))); {
	case w.o.App != "" && !hasWildcards(w.o.App):
		all = w.at(ctx, func(f func(*ledger.Entry) bool) error { return w.book.OfApplication(w.o.App, f) })
	case w.o.App != "":
		all = w.at(ctx, func(f func(*ledger.Entry) bool) error {
			return w.book.Each(ledger.Saved, func(e *ledger.Entry) bool { return !w.wanted.usedBy(e) || f(e) })
		})
	case w.byRecords:
		all = w.recordedFirst(ctx, o)
	case w.catalog != nil && w.o.Sort != "":
		all = w.catalog.List(ctx, catalogOrders[w.o.Sort], w.book)
	}
	return func(yield func(store.Info, error) bool) {
		for info, err := range all {
			if (err != nil || w.wanted.match(info)) && !yield(info, err) {
				return
			}
		}
	}
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
		rest := w.Disk.List(ctx)
		if w.catalog != nil {
			rest = w.catalog.List(ctx, catalog.Unrecorded, w.book)
		}
		for info, err := range rest {
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
func (w *entryWriter) of(info store.Info) *ledger.Entry { return known(w.book, info) }

// order returns the order in which all entries have to be sorted; nil: they come in order.
func (w *entryWriter) order() func(store.Info) (int64, string) {
	switch sort := ledger.Order(w.o.Sort); {
	case w.o.App == "" && (w.byRecords || w.catalog != nil):
		return nil
	case sort == ledger.Saved || sort == "" && hasWildcards(w.o.App):
		return func(info store.Info) (int64, string) { _, saved := w.wanted.use(w.of(info)); return -int64(saved), "" }
	case sort == ledger.Hits:
		return func(info store.Info) (int64, string) { hits, _ := w.wanted.use(w.of(info)); return -hits, "" }
	}
	return sortings[w.o.Sort]
}
