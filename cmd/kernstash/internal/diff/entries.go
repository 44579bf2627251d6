// Package diff says in what two entries differ, and which programs one run had to compile that another one had.
package diff

import (
	"context"
	"fmt"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// entriesReport is what `diff KEY KEY --json` writes.
type entriesReport struct {
	A          entries.EntryReport `json:"a"`
	B          entries.EntryReport `json:"b"`
	Components []component         `json:"components"` // that differ; none: it is one entry
}

// component is a component of the keys that differs.
type component struct {
	Reason  string   `json:"reason"` // as `why` calls it
	What    string   `json:"what"`
	Changes []string `json:"changes"` // "X was Y": B has X, A has Y
}

// Entries compares the two entries whose keys begin so.
func Entries(ctx context.Context, c cli.Cache, prefixes [2]string) error {
	var infos [2]store.Info
	var recipes [2]*key.Recipe
	for i, prefix := range prefixes {
		var err error
		if infos[i], err = entries.Find(ctx, c.Disk, prefix); err != nil {
			return err
		}
		if recipes[i], err = c.Disk.Recipe(ctx, infos[i].Key); err != nil {
			return fmt.Errorf("recipe of %s: %w", infos[i].Key.Short(), err)
		}
	}
	r := entriesReport{A: entries.ReportEntry(infos[0]), B: entries.ReportEntry(infos[1]), Components: []component{}}
	for _, d := range disk.CompareRecipes(recipes[1], recipes[0]) {
		r.Components = append(r.Components, component{d.Reason.String(), d.Reason.Words(), append([]string{}, d.Changes...)})
	}
	return c.Report(r, true, func() { r.write(c.App, infos) })
}

func (r *entriesReport) write(a *cli.App, infos [2]store.Info) {
	now, width := time.Now(), a.Terminal().Lines
	line := func(indent int, text string) {
		a.Printf("%s", human.WrapLines(human.Printable(text, false)+"\n", indent, width))
	}
	for i, info := range infos {
		line(3, fmt.Sprintf("%c  %s  %s, built %s for %s", 'A'+i, info.Key.Short(), entries.Name(info), human.Age(info.Created, now), entries.DeviceName(info)))
	}
	if len(r.Components) == 0 {
		line(0, "they are the same entry")
	}
	for _, d := range r.Components {
		line(0, d.What)
		for _, text := range d.Changes {
			line(4, "  "+text)
		}
		if len(d.Changes) == 0 {
			line(4, "  in more than can be told")
		}
	}
}
