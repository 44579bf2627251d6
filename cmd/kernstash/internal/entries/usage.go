package entries

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/store"
)

// Kinds are what Usage sums up by.
var Kinds = []string{"app", "device", "driver"}

// UsageReport is what `du --json` writes.
type UsageReport struct {
	By    string  `json:"by"`
	All   sums    `json:"all"`
	Parts []*sums `json:"parts"` // the largest first
}

// Usage writes what the entries of each application, device or driver take, and what they saved.
func Usage(ctx context.Context, c cli.Cache, by string, f Filter) error {
	w, err := newWriter(ctx, c, ListOptions{Filter: f, Sort: unordered}, true)
	if err != nil {
		return err
	}
	defer w.closeBook()
	parts := make(map[string]*sums)
	r := UsageReport{By: by, All: sums{Name: "all"}}
	add := func(name string, info store.Info, saved time.Duration) {
		if parts[name] == nil {
			parts[name] = &sums{Name: name}
		}
		parts[name].add(info.Size, human.Millis(info.Cost), human.Millis(saved))
	}
	err = w.each(ctx, func(info store.Info) {
		e := w.of(info)
		_, saved := w.wanted.use(e)
		r.All.add(info.Size, human.Millis(info.Cost), human.Millis(saved))
		device, driver := names(info.Device)
		switch {
		case by == "device":
			add(device, info, saved)
		case by == "driver" && device != "":
			add(strings.TrimSpace(info.Device.Platform+" "+driver), info, saved)
		case by == "app" && e != nil && len(e.Apps) > 0:
			for app, u := range e.Apps {
				if w.wanted.app == nil || w.wanted.app(app) {
					add(app, info, u.SavedTime())
				}
			}
		default:
			add("", info, saved)
		}
	})
	if err != nil {
		return err
	}
	r.Parts = slices.SortedFunc(maps.Values(parts), func(a, b *sums) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Name, b.Name))
	})
	return c.Report(r, true, func() {
		row := func(s *sums, name string) {
			w.line(fmt.Sprintf("%9s  %8d  %9s  %9s  %s", human.Size(s.Size), s.Entries, timeMS(s.CostMS), timeMS(s.SavedMS), name))
		}
		if len(parts) > 0 {
			c.Printf("%9s  %8s  %9s  %9s  %s\n", "SIZE", "ENTRIES", "COST", "SAVED", strings.ToUpper(by))
		}
		for _, s := range r.Parts {
			row(s, unknown(s.Name))
		}
		w.summary(ctx)
	})
}
