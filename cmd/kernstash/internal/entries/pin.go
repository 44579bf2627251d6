package entries

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store"
)

// PinReport is a pinned entry as --json writes it.
type PinReport struct {
	Key     string   `json:"key"`
	Kernels []string `json:"kernels"`
	Size    int64    `json:"size"`
	There   bool     `json:"there"` // else it will be pinned when it is stored
}

// IsPinned reports whether an entry is one of those that [disk.Store.Pins] told.
func IsPinned(pins map[string]string, info store.Info) bool {
	_, is := pins[path.Dir(info.Location)]
	return is
}

var errReadOnly = errors.New("mode=read-only: the cache is not to be written")

// Pin keeps the entries whose keys begin with prefixes from eviction, and lists what is pinned.
func Pin(ctx context.Context, c cli.Cache, prefixes []string) error {
	if len(prefixes) > 0 && c.Settings.Mode == settings.ModeReadOnly {
		return errReadOnly
	}
	var found []store.Info
	for _, prefix := range prefixes { // all, or none
		info, err := Find(ctx, c.Disk, prefix)
		if err != nil {
			return err
		}
		found = append(found, info)
	}
	for _, info := range found {
		if err := c.Disk.Pin(ctx, info.Key); err != nil {
			return err
		}
	}
	return listPins(ctx, c)
}

// Unpin undoes Pin, and lists what is pinned still.
func Unpin(ctx context.Context, c cli.Cache, prefixes []string) error {
	if c.Settings.Mode == settings.ModeReadOnly {
		return errReadOnly
	}
	pins, err := c.Disk.Pins(ctx)
	if err != nil {
		return err
	}
	var paths []string
	for _, prefix := range prefixes {
		n := len(paths)
		for path, key := range pins {
			if strings.HasPrefix(key, strings.ToLower(prefix)) {
				paths = append(paths, path)
			}
		}
		switch len(paths) - n {
		case 0:
			return fmt.Errorf("key %s: it is not pinned; 'kernstash pin' lists what is", prefix)
		case 1:
		default:
			return cli.Usagef("key %s: %d pinned keys begin like this", prefix, len(paths)-n)
		}
	}
	for _, path := range paths {
		if err := c.Disk.Unpin(ctx, path); err != nil {
			return err
		}
	}
	return listPins(ctx, c)
}

func listPins(ctx context.Context, c cli.Cache) error {
	pins, err := c.Disk.Pins(ctx)
	if err != nil {
		return err
	}
	all, there := []PinReport{}, make(map[string]PinReport)
	total := int64(0)
	for info, err := range c.Disk.List(ctx) {
		switch {
		case err != nil:
			return err
		case IsPinned(pins, info):
			there[path.Dir(info.Location)] = PinReport{Kernels: append([]string{}, info.Kernels...), Size: info.Size, There: true}
			total += info.Size
		}
	}
	for _, path := range slices.SortedFunc(maps.Keys(pins), func(a, b string) int { return strings.Compare(pins[a], pins[b]) }) {
		r, is := there[path]
		if r.Key = pins[path]; !is {
			r.Kernels = []string{}
		}
		all = append(all, r)
	}
	return c.Report(all, true, func() {
		for _, r := range all {
			size := human.Size(r.Size)
			if !r.There {
				size = "not there"
			}
			c.Printf("%-12s  %9s  %s\n", human.Printable(r.Key[:min(12, len(r.Key))], false), size, kernelNames(r.Kernels, 0))
		}
		c.Printf("%s pinned, %s", human.Plural(len(all), "entry"), human.Size(total))
		if limit := c.Settings.MaxSize; limit > 0 {
			c.Printf(", of the limit of %s", human.Size(limit))
		}
		c.Printf("\n")
	})
}
