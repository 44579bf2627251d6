package entries

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/frameworks"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/internal/human"
)

// frameworkReport is what a framework keeps, as `ls --json` writes it.
type frameworkReport struct {
	Framework string    `json:"framework"`
	Files     int       `json:"files"`
	Size      int64     `json:"size"`
	Accessed  time.Time `json:"accessed"`
	Location  string    `json:"location"`
}

// listFrameworks writes a line about each framework that keeps something.
func (w *entryWriter) listFrameworks(ctx context.Context) error {
	caches, err := frameworks.Look(ctx, w.Settings.Dir)
	if err != nil {
		return err
	}
	for _, c := range caches {
		if w.JSON {
			location, err := filepath.Rel(w.Settings.Dir, c.Dir)
			if err == nil {
				err = terminal.EncodeJSON(w.Out, frameworkReport{c.Name, c.Files, c.Bytes, c.Used.UTC(), location}, "")
			}
			if err != nil {
				return err
			}
			continue
		}
		w.Printf("%s keeps %s, %s, last used %s, in %s\n", c.Name, human.Plural(c.Files, "file"), human.Size(c.Bytes),
			human.Age(c.Used, w.now), human.Printable(c.Dir, false))
	}
	return nil
}

// writeFrameworks says what frameworks keep, of their limit.
func writeFrameworks(a *cli.App, caches []frameworks.Cache, limit int64) {
	total := int64(0)
	for _, c := range caches {
		total += c.Bytes
	}
	of := "no limit"
	if limit > 0 {
		of = fmt.Sprintf("%s of %s", human.Rate(total, limit), human.Size(limit))
	}
	for _, c := range caches {
		a.Printf("%-12s %s keeps %s, %s on disk (all: %s), last used %s\n", "frameworks", c.Name, human.Plural(c.Files, "file"),
			human.Size(c.Bytes), of, human.Age(c.Used, time.Now()))
	}
}

// writeRemoved says what was removed, or would be, of what frameworks keep.
func writeRemoved(a *cli.App, caches []frameworks.Cache, dry bool) {
	verb := "removed"
	if dry {
		verb = "would remove"
	}
	for _, c := range caches {
		a.Printf("%s %s of %d, %s of %s, that %s keeps\n", verb, human.Plural(c.Removed, "file"), c.Files,
			human.Size(c.RemovedBytes), human.Size(c.Bytes), c.Name)
	}
}
